// How the broker follows a query, in its own words; they are in its list of what stands, which administrators may read.

import { getJson } from "./broker.js";
import { paths } from "./settings.js";

export async function explained(sparql) {
  try {
    const { units } = await getJson(paths.units);
    const own = units.find(unit => unit.query === sparql);
    return own ? `Followed by: ${own.followed}.` : "Followed together with other queries of its kind: see Operations.";
  } catch {
    return ""; // not for everybody
  }
}
