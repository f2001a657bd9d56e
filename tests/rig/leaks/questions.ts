import { INTERNET, LAN, ROUTER, TUNNEL } from "../../../src/sandbox/topology.ts";
import type { Stage } from "./stage.ts";

/** Whom a program may ask for names: on the internet, the gateway, and the home router. */
export function resolversFor({ cards }: Stage, asker: "client" | "gateway"): string[] {
  const home = ROUTER.lan[cards];
  const internet = [INTERNET.dns4, INTERNET.dns6, "9.9.9.9"];
  if (asker === "gateway") return [...internet, home.v4, home.v6];
  const own = [LAN.gateway4, LAN.gateway6];
  // With one card the client reaches the home router on the switch: no packet of that passes the gateway.
  return cards === 1 ? [...internet, ...own] : [...internet, ...own, home.v4, home.v6];
}

/** Whom a device may ask: the same, the resolvers inside the tunnels, and a host of its own LAN that it takes for one. */
export function resolversForDevice(stage: Stage): string[] {
  return [...resolversFor(stage, "client"), TUNNEL.server4, TUNNEL.server6, LAN.client4];
}
