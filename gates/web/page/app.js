// The page: its tabs, its theme, its pulse.

import { beat } from "./pulse.js";
import { Tabs } from "./tabs.js";
import { themeSwitch } from "./theme.js";
import { jsapView } from "./view_jsap.js";
import { loginView } from "./view_login.js";
import { operationsView } from "./view_operations.js";
import { queryView } from "./view_query.js";
import { streamsView } from "./view_streams.js";
import { subscribeView } from "./view_subscribe.js";
import { updateView } from "./view_update.js";

document.querySelector("header").append(themeSwitch());
const tabs = new Tabs(document.getElementById("tabs"), document.querySelector("main"), [
  queryView(), updateView(), subscribeView(), jsapView(), streamsView(), operationsView(), loginView(),
]);
tabs.offer("login", false);
beat(document.getElementById("health"), state => tabs.offer("login", state === "closed"));
