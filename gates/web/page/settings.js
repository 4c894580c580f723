// What the broker tells the page: where its paths are.

const told = document.querySelector('meta[name="triplewire"]').dataset;

export const paths = Object.freeze({
  query: told.query, update: told.update, subscribe: told.subscribe, token: told.token,
  health: "/health", units: "/units", explain: "/explain", metrics: "/metrics", streams: "/streams",
});
