import { INTERNET, VPN } from "../../../src/sandbox/topology.ts";
import { Phone } from "../home/phone.ts";
import { LanDevice } from "../tools/lan-device.ts";
import { until } from "../tools/until.ts";
import { succeeds } from "./connections.ts";
import { change, isServed, isSilent, move, PORT, type RemotePhone, withPhones } from "./remote-phones.ts";
import type { Scenario, Stage } from "./stage.ts";

/** Of no other device of the stage. */
const AT_HOME = 7;
/** WireGuard's answers to a phone at home, whose packets come by the exit that it has as a device of the LAN. */
const TO_SERVER = new RegExp(`^192\\.168\\.\\S+ > 203\\.0\\.113\\.\\d+ UDP ${PORT} > \\d+, \\d+ bytes$`);
const PAGE = `http://${INTERNET.host4}/ip`;

/** Phones that share an address with each other, or a cable with the devices at home. */
export const SHARED_ADDRESSES: readonly Scenario[] = [
  withPhones(
    "two phones behind one NAT, whose address changes, and one of which is moved and removed",
    ["main", "second"],
    async (stage, phones, [, , router]) => {
      const [first, second] = phones as [RemotePhone, RemotePhone];
      await move(stage, first, "second");
      await move(stage, first, "blocked");
      await isSilent(first);
      await isServed(stage, second, VPN.vpn2.v4);
      await move(stage, first, "main");
      await router?.moves(6);
      await first.traffic.sends(50);
      await isServed(stage, first, VPN.vpn1.v4);
      await isServed(stage, second, VPN.vpn2.v4);
      await change(stage, first);
      await isSilent(first);
      await isServed(stage, second, VPN.vpn2.v4);
    },
    {
      arrive: async (lab) => {
        const router = await Phone.away(lab, 3);
        return [await Phone.behind(router, 4), await Phone.behind(router, 5), router];
      },
    },
  ),
  withPhones(
    "a phone that is at home on the LAN while it comes in from remote devices, with an exit for each",
    ["main", "second"],
    async (stage, phones) => {
      const [other, phone] = phones as [RemotePhone, RemotePhone];
      const path = `/api/devices/${(await phone.phone.run(["cat", "/sys/class/net/lan0/address"])).stdout.trim()}`;
      const atHome = (exit: string) => succeeds(stage.request(path, { exit }, "PUT"));
      await isSeenAtHome(stage, phone, VPN.vpn1.v4);
      await atHome("second");
      await isSeenAtHome(stage, phone, VPN.vpn2.v4);
      await isServed(stage, phone, VPN.vpn2.v4);
      await move(stage, phone, "main");
      await isSeenAtHome(stage, phone, VPN.vpn2.v4);
      // Without an exit at home it does not reach the way in.
      await atHome("blocked");
      await isSilent(phone);
      await isSeenAtHome(stage, phone, null);
      await isServed(stage, other, VPN.vpn1.v4);
      await atHome("main");
      await isServed(stage, phone, VPN.vpn1.v4);
      await move(stage, phone, "blocked");
      await isSeenAtHome(stage, phone, VPN.vpn1.v4);
      await move(stage, phone, "second");
      await change(stage, phone);
      await isSilent(phone);
      await isSeenAtHome(stage, phone, VPN.vpn1.v4);
      await succeeds(stage.request(path, undefined, "DELETE"));
    },
    {
      allowed: (leak) => TO_SERVER.test(leak),
      arrive: async (lab) => [
        await Phone.away(lab, 1),
        Phone.atHome(lab, await LanDevice.plugIn(lab, AT_HOME)),
      ],
    },
  ),
];

/** Returns once the internet sees what it sends past its own tunnel, as a device of the LAN. Needs both layers. */
async function isSeenAtHome(stage: Stage, { phone }: RemotePhone, address: string | null): Promise<void> {
  if (!stage.isWhole) return;
  const page = async () => {
    const { code, stdout } = await phone.run(["curl", "-gsf", "-m", "2", "--interface", "lan0", PAGE]);
    return code === 0 ? stdout.trim() : null;
  };
  await until(async () => (await page()) === address);
}
