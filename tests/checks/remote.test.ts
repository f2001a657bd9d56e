import { expect, test } from "bun:test";
import { remoteFinding } from "../../src/checks/remote.ts";
import type { RemoteStatus } from "../../src/remote/schema.ts";

const CALLED = "home.example.org:51820";
const ON: RemoteStatus = {
  ...{ on: true, port: 51_820, interface: "wgr", public_key: null, through: null, endpoint: CALLED },
  error: null,
  ways: [{ kind: "router", state: "closed", endpoint: null, protocol: null, error: "it does not answer" }],
  by_hand: { port: 51_820, to: "192.168.8.2", to_port: 51_820 },
  devices: [],
};
const ENTER = "In the home router, forward UDP port 51820 to 192.168.8.2, port 51820.";

test("while it is off, there is nothing to check", () => {
  expect(remoteFinding({ ...ON, on: false })).toBeNull();
});

test("a port that the router forwards is fine", () => {
  const open = {
    kind: "router",
    state: "open",
    endpoint: "203.0.113.7:40000",
    protocol: "upnp",
    error: null,
  } as const;
  expect(remoteFinding({ ...ON, endpoint: open.endpoint, ways: [open] })?.found).toBe(
    "devices call 203.0.113.7:40000, which the home router opens by UPnP",
  );
  expect(remoteFinding({ ...ON, ways: [open] })?.found).toBe(
    `devices call ${CALLED}; open is 203.0.113.7:40000, which the home router opens by UPnP`,
  );
});

test("what cannot be known is a warning with what to enter, until a device has come in", () => {
  expect(remoteFinding(ON)).toMatchObject({
    result: "warning",
    found: `devices call ${CALLED}; whether that leads here cannot be seen: it does not answer`,
    advice: ENTER,
  });
  const phone = { latest_handshake: "2026-11-24T12:00:00.000Z" } as RemoteStatus["devices"][number];
  expect(remoteFinding({ ...ON, devices: [phone] })?.result).toBe("ok");
});

test("without an address to call it is a fault, with what to enter", () => {
  expect(remoteFinding({ ...ON, endpoint: null, error: "the address is not known" })).toMatchObject({
    result: "fault",
    found: "no device can come in: the address is not known",
    advice: ENTER,
  });
});

const PARENTS = {
  ...({ name: "parents", state: "up", error: null, latest_handshake: "2026-11-24T12:00:00.000Z" } as const),
  endpoint: { host: "home.example.org", port: 51_820 },
} as const;

test("a gateway that only calls other homes need not be reached; one that waits for an answer must", () => {
  const closed = { ...ON, endpoint: null, error: "the address is not known" };
  const waiting = { ...PARENTS, endpoint: null };
  expect(remoteFinding(closed, [PARENTS])).toBeNull();
  expect(remoteFinding(closed, [PARENTS, waiting])?.result).toBe("fault");
});

test("another home by which nothing passes is named with its reason, and one that is silent after it was heard", () => {
  const found = (change: object) => remoteFinding(ON, [{ ...PARENTS, ...change }]);
  expect(found({})).toBeNull();
  expect(found({ state: "down", latest_handshake: null })).toBeNull();
  expect(found({ state: "down" })).toMatchObject({
    result: "warning",
    found: "the gateway of parents was heard before, and is silent now",
  });
  expect(found({ error: "the network is taken" })?.found).toBe(
    "nothing passes to or from parents: the network is taken",
  );
});

test("a home whose exit here leads to a home is told, with what to change", () => {
  expect(remoteFinding(ON, [PARENTS], [{ home: "parents", tunnel: "main" }])).toMatchObject({
    result: "warning",
    found: expect.stringMatching(/^what parents sends to the internet from here is refused: its exit, main,/),
    advice: "Give it another exit: portcullis device parents exit blocked",
  });
});
