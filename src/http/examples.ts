import type { Static } from "typebox";
import type { SCHEMAS } from "./schema-names.ts";

type Schemas = typeof SCHEMAS;

const SEEN_AT = "2026-03-01T18:00:00.000Z";
const TV = "02:00:00:00:00:20";

const SESSION = {
  provider: "managed",
  server: "se-sto-wg-001",
  ip: "203.0.113.10",
  location: "Stockholm, Sweden",
  state: "connected",
  uptime_seconds: 9_240,
  latest_handshake: SEEN_AT,
  rx_bytes: 1_250_000_000,
  tx_bytes: 84_000_000,
  error: null,
  mtu: 1_420,
  unanswered: false,
} as const;

/** Whole answers for the OpenAPI document, by the names of their schemas. */
export const EXAMPLES: { readonly [Name in keyof Schemas]?: Static<Schemas[Name]> } = {
  Success: { success: true },
  Status: {
    ...SESSION,
    connected: true,
    uptime: "2h 34m",
    killswitch_active: true,
    direct_devices: 0,
    direct_destinations: 0,
    verdict: {
      name: "protected",
      title: "Protected",
      text: "Everything at home goes through Stockholm, Sweden.",
      why: null,
      through: 4,
      without: 0,
    },
  },
  TunnelList: { tunnels: [{ ...SESSION, name: "main", wanted: "Stockholm, Sweden", devices: 4 }] },
  ServerList: {
    provider: "managed",
    servers: {
      Sweden: {
        Stockholm: [{ hostname: SESSION.server, ipv4: SESSION.ip, type: "WireGuard", provider: "Managed" }],
      },
    },
  },
  DeviceList: {
    devices: [
      {
        id: TV,
        name: "TV",
        named: true,
        addresses: ["192.168.1.20"],
        interface: "eth1",
        exit: "main",
        assigned: true,
        online: true,
        seen_at: SEEN_AT,
        rx_bytes: 820_000_000,
        tx_bytes: 12_000_000,
        fixed_address: null,
        rate: { down: 50, up: 10 },
        icon: "tv",
      },
    ],
    default_exit: "main",
    exits: ["main", "blocked"],
    direct_allowed: false,
  },
  DestinationList: {
    destinations: [
      {
        id: "3f9a1c",
        names: ["tv.example"],
        prefixes: [],
        devices: [TV],
        exit: "main",
        note: "",
        open: false,
        addresses: 4,
        warning: null,
      },
    ],
  },
  ScheduleList: {
    time_zone: "Europe/Stockholm",
    schedules: [
      {
        name: "bedtime",
        device: TV,
        exit: "blocked",
        at: "21:00",
        until: "07:00",
        active: false,
        next_at: "2026-03-01T20:00:00.000Z",
        error: null,
      },
    ],
  },
  ForwardList: {
    forwards: [
      {
        device: TV,
        name: "TV",
        protocol: "tcp",
        port: 6_881,
        fixed: 51_413,
        tunnel: "main",
        external: 51_413,
        address: null,
        opener: "fixed",
        asked_by: "operator",
        state: "open",
        error: null,
        expires_at: null,
      },
    ],
  },
  CheckList: {
    checks: [
      {
        id: "firewall",
        title: "Kill switch: firewall",
        result: "ok",
        code: "firewall_holds",
        args: {},
        found: "its rules are in the kernel: what they do not accept is refused",
        advice: null,
      },
    ],
    checked_at: SEEN_AT,
  },
  JournalPage: {
    events: [
      {
        id: 2,
        at: SEEN_AT,
        type: "tunnel_state",
        tunnel: "main",
        state: "connected",
        server: SESSION.server,
        location: SESSION.location,
        error: null,
      },
    ],
    more: false,
  },
};
