// How the broker follows a query, in its own words.

import { explain } from "./broker.js";

export async function explained(sparql) {
  try {
    return `Followed by: ${(await explain(sparql)).followed}.`;
  } catch {
    return ""; // the subscription itself says what is wrong
  }
}
