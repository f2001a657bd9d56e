import { expect } from "bun:test";
import { needsNamespaces } from "../fast.ts";
import { EVENTS } from "../rig/gateways/events.ts";
import { WG_QUICK } from "../rig/gateways/known.ts";
import { PORTCULLIS } from "../rig/gateways/portcullis.ts";
import { judged } from "../rig/gateways/trial.ts";

needsNamespaces.test(
  "the judge sees a device's packets outside wg-quick's tunnel when its link is deleted, and none of Portcullis'",
  async () => {
    const event = EVENTS.find(({ name }) => name === "the tunnel's link is deleted");
    if (event === undefined) throw new Error("there is no such event");
    const [ofWgQuick, ofPortcullis] = await Promise.all([judged(WG_QUICK, event), judged(PORTCULLIS, event)]);
    expect(ofWgQuick.devices).toBeGreaterThan(0);
    expect(ofPortcullis).toEqual({ devices: 0, own: 0, examples: [] });
  },
  180_000,
);
