// Light, dark, or as the system has it.  The choice is all that the page keeps beyond its life.

import { button } from "./dom.js";

const KEY = "triplewire-theme";
const NAMES = ["system", "light", "dark"];

export function themeSwitch() {
  let theme = read();
  const node = button("", () => {
    theme = NAMES[(NAMES.indexOf(theme) + 1) % NAMES.length];
    keep(theme);
    show();
  }, { id: "theme", class: "quiet" });
  const show = () => {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    node.textContent = `Theme: ${theme}`;
  };
  show();
  return node;
}

// A browser that lets pages keep nothing throws.
function read() {
  try {
    const kept = localStorage.getItem(KEY);
    return NAMES.includes(kept) ? kept : "system";
  } catch {
    return "system";
  }
}

function keep(theme) {
  try {
    if (theme === "system") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, theme);
  } catch { /* then it lasts as long as the page */ }
}
