/** The groups of the OpenAPI document, in its order. */
export const TAGS = {
  Tunnels: "Connect and disconnect, and how fast it is.",
  Servers: "Those that tunnels can lead to: of a VPN provider, of your own, and imported.",
  Accounts: "At VPN providers.",
  Devices: "Who is on the LAN or comes in from outside; names, exits, limits, and forwarded ports.",
  Destinations: "Names and addresses that have an exit of their own.",
  Schedules: "What changes at certain times.",
  DNS: "The gateway's own resolver, and lists of blocked names.",
  Events: "What happens, and what has happened.",
  Health: "Whether everything works as promised.",
  Settings: "Of the gateway; notifications, tokens and backups.",
  Access: "Who asks, and how to know the gateway.",
  gluetun: "What widgets and port tools ask gluetun's control server. Only with `--gluetun-routes on`.",
};
export type Tag = keyof typeof TAGS;
