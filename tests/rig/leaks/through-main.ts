import { succeeds } from "./connections.ts";
import {
  forwardPort,
  isServed,
  isSilent,
  losePort,
  placesOf,
  type RemotePhone,
  withPhones,
} from "./remote-phones.ts";
import type { Scenario, Stage } from "./stage.ts";

const THROUGH_MAIN = { isThroughMain: true };

/** Phones that come in by a port, which is lost: of the home router, and of the main tunnel's provider. */
export const WAYS_IN: readonly Scenario[] = [
  withPhones(
    "phones that come in through main, while the forwarded port, the tunnel, the uplink, the firewall and the service are lost",
    ["main", "second", "blocked"],
    async (stage, phones) => {
      const [first] = phones as [RemotePhone];
      await losesPort(stage, phones, THROUGH_MAIN);
      await succeeds(stage.disconnect());
      for (const phone of phones) await isSilent(phone);
      await succeeds(stage.connect());
      await allServed(stage, phones);
      await stage.lab.unplug();
      await first.traffic.sends(25);
      await stage.lab.plug();
      await allServed(stage, phones);
      for (const argv of [
        ["nft", "flush", "ruleset"],
        ["ip", "link", "del", `${stage.lab.sandbox.interface}0`],
        ["ip", "link", "del", `${stage.lab.sandbox.interface}r`],
      ]) {
        await stage.inside(...argv);
        await first.traffic.sends(50);
        await allServed(stage, phones);
      }
      await stage.gateway.kill("SIGKILL");
      await first.traffic.sends(50);
      await stage.gateway.start();
      await allServed(stage, phones);
    },
    THROUGH_MAIN,
  ),
  withPhones(
    "remote phones, while the home router loses the port",
    ["main", "second", "blocked"],
    (stage, phones) => losesPort(stage, phones, {}),
  ),
];

const EXITS = ["main", "second", "blocked"] as const;

async function losesPort(
  stage: Stage,
  phones: readonly RemotePhone[],
  wayIn: { isThroughMain?: boolean },
): Promise<void> {
  await losePort(stage, wayIn);
  for (const phone of phones) await isSilent(phone);
  await forwardPort(stage, wayIn);
  await allServed(stage, phones);
}

async function allServed(stage: Stage, phones: readonly RemotePhone[]): Promise<void> {
  for (const [index, phone] of phones.entries())
    await isServed(stage, phone, placesOf(EXITS[index] ?? "blocked", stage)[0] ?? null);
}
