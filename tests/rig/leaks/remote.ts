import assert from "node:assert/strict";
import { ROUTER, VPN } from "../../../src/sandbox/topology.ts";
import {
  change,
  isServed,
  isSilent,
  isTranslated,
  move,
  placesOf,
  type RemotePhone,
  withPhones,
} from "./remote-phones.ts";
import type { Scenario, Stage } from "./stage.ts";

/** The echo of a phone's datagrams (RFC 862), which no device of the LAN asks. */
const TO_ECHO = / UDP \d+ > 7, \d+ bytes$/;

/** Remote phones send all the time, while their exits, the tunnels, the uplink, the service and the firewall change. */
export const REMOTE_SCENARIOS: readonly Scenario[] = [
  withPhones(
    "remote phones, by main, by another tunnel and blocked, while the service, the uplink and the tunnel are lost",
    ["main", "second", "blocked"],
    async (stage, phones) => {
      const [first, second, blocked] = phones as [RemotePhone, RemotePhone, RemotePhone];
      const all = async () => {
        await isServed(stage, first, VPN.vpn1.v4);
        await isServed(stage, second, VPN.vpn2.v4);
        await isServed(stage, blocked, null);
      };
      await stage.gateway.kill("SIGKILL");
      await second.traffic.sends(50);
      await stage.gateway.start();
      await all();
      await stage.lab.unplug();
      await second.traffic.sends(25);
      await stage.lab.plug();
      await all();
      await stage.devices.disconnect();
      await isSilent(second);
      await isServed(stage, first, VPN.vpn1.v4);
      await move(stage, second, "main");
      await move(stage, second, "blocked");
      await isSilent(second);
      await move(stage, second, "main");
      await change(stage, first);
      await isSilent(first);
      await isServed(stage, second, VPN.vpn1.v4);
    },
  ),
  withPhones(
    "a direct remote phone, which is moved, and from which the operator takes the exit, and which is removed",
    ["direct"],
    async (stage, phones) => {
      const [phone] = phones as [RemotePhone];
      await stage.gateway.kill("SIGKILL");
      await phone.traffic.sends(50);
      await stage.gateway.start();
      await isServed(stage, phone, ROUTER.public4);
      await move(stage, phone, "second");
      await leavesNoMore(stage, phone);
      await move(stage, phone, "direct");
      await stage.devices.withdrawDirect();
      for (const place of placesOf("main", stage)) phone.places.add(place);
      await leavesNoMore(stage, phone);
      await isServed(stage, phone, VPN.vpn1.v4);
      await stage.devices.restore();
      await move(stage, phone, "direct");
      await change(stage, phone);
      await leavesNoMore(stage, phone);
      await isSilent(phone);
    },
  ),
  withPhones(
    "a remote phone, while the firewall is flushed, and its interface is deleted and loses its addresses",
    ["second"],
    async (stage, phones) => {
      const [phone] = phones as [RemotePhone];
      await stage.inside("nft", "flush", "ruleset");
      await phone.traffic.sends(50);
      await isServed(stage, phone, VPN.vpn2.v4);
      const link = `${stage.lab.sandbox.interface}r`;
      for (const argv of [
        ["ip", "link", "del", link],
        ["ip", "address", "flush", "dev", link],
      ]) {
        await stage.inside(...argv);
        await phone.traffic.sends(50);
        await isServed(stage, phone, VPN.vpn2.v4);
      }
    },
  ),
];

/** Not a packet of the phone is outside the tunnels after this. */
async function leavesNoMore(stage: Stage, { traffic }: RemotePhone): Promise<void> {
  const outside = async () =>
    (await stage.leaks()).filter((leak) => isTranslated(leak) && TO_ECHO.test(leak)).length;
  const before = await outside();
  await traffic.sends(50);
  assert.equal(await outside(), before, "a phone that is no longer direct leaves outside the tunnels");
}
