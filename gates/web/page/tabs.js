// Tabs as WAI-ARIA's Authoring Practices have them: arrows, Home and End move, and what has the focus is shown.
// The one that is shown stands in the address: #query.

import { el } from "./dom.js";

export class Tabs {
  // `views` are { id, title, element, shown?(), hidden?() }.
  constructor(list, panels, views) {
    this.list = list;
    this.panels = panels;
    this.tabs = new Map();
    for (const view of views) this.add(view);
    list.addEventListener("keydown", event => this.key(event));
    addEventListener("hashchange", () => this.route());
    this.route();
  }

  add(view) {
    const tab = el("button", {
      type: "button", role: "tab", id: `tab-${view.id}`, "aria-controls": `panel-${view.id}`, tabindex: -1,
      "aria-selected": "false", on: { click: () => this.show(view.id) },
    }, view.title);
    const panel = el("section", {
      role: "tabpanel", id: `panel-${view.id}`, "aria-labelledby": `tab-${view.id}`, hidden: true,
    }, view.element);
    this.list.append(tab);
    this.panels.append(panel);
    this.tabs.set(view.id, { tab, panel, view });
  }

  route() {
    const wanted = location.hash.slice(1);
    this.show(this.usable(wanted) ? wanted : this.tabs.keys().next().value);
  }

  usable(id) {
    return this.tabs.has(id) && !this.tabs.get(id).tab.hidden;
  }

  show(id) {
    if (id === this.current) return;
    const before = this.tabs.get(this.current);
    this.current = id;
    this.missed = null; // the tab of the address, while it is not offered
    if (before) {
      mark(before, false);
      before.view.hidden?.();
    }
    const now = this.tabs.get(id);
    mark(now, true);
    now.view.shown?.();
    if (location.hash.slice(1) !== id) history.replaceState(null, "", `#${id}`);
  }

  // A tab that makes no sense at present is not there; whoever is on it goes to the first.
  offer(id, wanted) {
    const { tab } = this.tabs.get(id);
    if (tab.hidden === !wanted) return;
    tab.hidden = !wanted;
    if (!wanted && this.current === id) {
      this.show(this.tabs.keys().next().value);
      this.missed = id;
    } else if (wanted && [this.missed, location.hash.slice(1)].includes(id)) this.show(id);
  }

  key(event) {
    const ids = [...this.tabs.keys()].filter(id => this.usable(id));
    const at = ids.indexOf(this.current);
    const to = {
      ArrowRight: (at + 1) % ids.length, ArrowLeft: (at - 1 + ids.length) % ids.length, Home: 0, End: ids.length - 1,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.show(ids[to]);
    this.tabs.get(ids[to]).tab.focus();
  }
}

function mark({ tab, panel }, selected) {
  tab.setAttribute("aria-selected", String(selected));
  tab.tabIndex = selected ? 0 : -1;
  panel.hidden = !selected;
}
