import { until } from "../tools/until.ts";
import type { Rig } from "./rig.ts";

/** Brings a home to so many devices, the sandbox's computers included: the kernel's table of neighbours gets the others. */
export async function bringDevices({ lab, gateway }: Rig, total: number): Promise<void> {
  const lines = Array.from({ length: total - lab.sandbox.computers.length }, (_, index) => {
    const hex = index.toString(16).padStart(2, "0");
    return `neigh replace fd77::1:${hex} lladdr 02:00:00:00:02:${hex} dev lan0 nud reachable\n`;
  });
  const argv = ["ip", "-n", lab.namespaces.gateway, "-batch", "-"];
  const { code, stderr } = await lab.outside(argv, lines.join(""));
  if (code !== 0) throw new Error(stderr);
  await until(async () => (await gateway.api("GET", "/api/devices")).body.devices.length >= total);
}
