import type { Prefix } from "../base/address.ts";
import type { Settings } from "../base/settings.ts";
import type { HostNetwork } from "../network/host-network.ts";
import { type OwnUla, servedAmong, ulaOn, ulasOf } from "../network/ula.ts";
import type { Host } from "../system/host.ts";
import { advertise } from "./advertise.ts";
import { ROUTER_LIFETIME_S } from "./config.ts";

/** RFC 4861, section 10: MAX_FINAL_RTR_ADVERTISEMENTS, and the shortest pause between them. */
const [TIMES, PAUSE_MS] = [3, 3_000];

type AdvertiseHost = Pick<Host, "listenOn" | "run" | "sleep">;

/**
 * Tells the devices of each link that its address is no longer a resolver, that its prefix is no longer to be used,
 * and, unless the link is in `served`, that this machine is no longer their IPv6 router. Otherwise they would use it
 * for hours. Does nothing on a link that cannot send.
 */
export async function withdrawPrefixes(
  host: AdvertiseHost,
  former: readonly OwnUla[],
  served: readonly string[] = [],
): Promise<void> {
  await Promise.allSettled(
    former.map(({ interface: link, prefix }) => endOn(host, link, prefix, served.includes(link))),
  );
}

async function endOn(host: AdvertiseHost, link: string, prefix: Prefix, isServed: boolean): Promise<void> {
  const socket = await host.listenOn(link, "router solicitations");
  try {
    for (let time = 0; time < TIMES; time += 1) {
      if (time > 0) await host.sleep(PAUSE_MS);
      if (!(await advertise(host, { link, socket }, isServed ? ROUTER_LIFETIME_S : 0, prefix))) return;
    }
  } finally {
    socket.close();
  }
}

/** Removes the addresses that links of this machine have from earlier settings. */
export async function retireAddresses(
  host: AdvertiseHost,
  { lans, ipv6 }: Pick<HostNetwork, "lans" | "ipv6">,
  { dhcp, ula }: Pick<Settings, "dhcp" | "ula">,
): Promise<void> {
  if (ipv6 === "missing") return;
  const served = ula === null ? [] : servedAmong(lans, { dhcp }).map((lan) => lan.interface);
  const former = (await ulasOf(host)).filter(
    ({ interface: link, prefix }) => dhcp === null || ula === null || prefix !== ulaOn(ula, link),
  );
  if (former.length === 0) return;
  await withdrawPrefixes(host, former, served);
  for (const { interface: link, prefix } of former)
    await host.run(["ip", "-6", "address", "del", prefix, "dev", link]);
}
