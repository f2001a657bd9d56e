/** The titles of the page's views in English, by the part of the address after `#/`. */
export const VIEWS = {
  "": "Home",
  servers: "Servers",
  setup: "Set up",
  devices: "Devices",
  tunnels: "Tunnels",
  destinations: "Destinations",
  remote: "Remote",
  schedules: "Schedules",
  account: "Account",
  settings: "Settings",
  history: "History",
  checks: "Checks",
  log: "Log",
};
