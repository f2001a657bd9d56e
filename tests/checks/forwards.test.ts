import { expect, test } from "bun:test";
import { forwardsFinding } from "../../src/checks/forwards.ts";
import type { Forward } from "../../src/forwards/schema.ts";

const TV: Forward = {
  ...{ device: "02:00:00:00:00:20", name: "TV", protocol: "tcp", port: 6881, external: 51413, fixed: null },
  ...{ address: null, tunnel: "main", opener: "nat-pmp", asked_by: "operator", state: "open", error: null },
  expires_at: null,
};
const UNSEEN = "the device was not seen on the LAN yet; the port opens as soon as it is";
const CLOSED: Forward = { ...TV, state: "closed", external: null, error: UNSEEN };
const ADVICE =
  "Solve the reason, and the port opens by itself; after a refusal by the provider that can take ten minutes. All ports: portcullis forwards";

test("without forwards there is nothing to look at", () => {
  expect(forwardsFinding([])).toBeNull();
});

test("ports that are open, or are being opened, are fine", () => {
  expect(forwardsFinding([TV, TV])).toMatchObject({ result: "ok", found: "2 open", advice: null });
  const opening: Forward = { ...TV, state: "opening", external: null };
  expect(forwardsFinding([TV, opening])?.found).toBe("1 open, 1 being opened");
});

test("a port that is closed is named with the reason, by its device's name or MAC address", () => {
  expect(forwardsFinding([TV, CLOSED])).toMatchObject({
    result: "warning",
    found: `1 of 2 closed: port 6881 (TCP) of TV: ${UNSEEN}`,
    advice: ADVICE,
  });
  const nameless: Forward = { ...CLOSED, name: "", protocol: "udp" };
  expect(forwardsFinding([nameless])?.found).toBe(
    `1 of 1 closed: port 6881 (UDP) of 02:00:00:00:00:20: ${UNSEEN}`,
  );
});

test("of many closed ports a few are named, and each reason is said once", () => {
  const port = "port 6881 (TCP) of TV";
  expect(forwardsFinding(Array.from({ length: 5 }, () => CLOSED))?.found).toBe(
    `5 of 5 closed: ${port}, ${port}, ${port} and 2 more: ${UNSEEN}`,
  );
  const because = (error: string): Forward => ({ ...CLOSED, error });
  expect(forwardsFinding([because("one"), because("two"), because("one")])?.found).toBe(
    `3 of 3 closed: ${port}, ${port}: one. ${port}: two`,
  );
  expect(forwardsFinding(["one", "two", "three"].map(because))?.found).toBe(
    `3 of 3 closed: ${port}: one. ${port}: two. Others have other reasons`,
  );
});
