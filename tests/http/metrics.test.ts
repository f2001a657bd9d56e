import { afterAll, beforeEach, expect, test } from "bun:test";
import fc from "fast-check";
import { version } from "../../package.json";
import { expositionOf } from "../../src/http/exposition.ts";
import { histogramOf, observed } from "../../src/tunnel/histogram.ts";
import { parseExposition } from "./exposition.ts";
import { EPOCH, start } from "./wire.ts";

const { gateway, send, again, stop } = start();
afterAll(stop);

const PUBLIC_KEY = "cHVibGljIGtleSBmb3IgdGVzdHMsIDMyIGJ5dGVzISE=";
const { status } = gateway;
beforeEach(() => {
  gateway.status = status;
  gateway.tunnel = null;
  gateway.alerts = 0;
  gateway.connects = histogramOf([0.1, 1]);
  gateway.connected = "";
  gateway.killSwitch = true;
});

const scrape = async () => parseExposition((await send("GET", "/metrics")).text);

async function figure(name: string, labels: Record<string, string> = {}) {
  return (await scrape())
    .get(name)
    ?.samples.find((sample) => JSON.stringify(sample.labels) === JSON.stringify(labels))?.value;
}

test("the whole text, as a gateway with a tunnel has it", async () => {
  gateway.connected = "se-1";
  gateway.tunnel = { interface: "portcullis0", publicKey: PUBLIC_KEY };
  gateway.status = async () => ({
    ...(await status.call(gateway)),
    rx_bytes: 9_007_199_254_740_991,
    tx_bytes: 1_234,
    latest_handshake: new Date(EPOCH).toISOString(),
  });
  gateway.alerts = 2;
  gateway.connects = [0.1, 0.4, 30].reduce(observed, histogramOf([0.1, 1]));
  const { text, headers } = await send("GET", "/metrics");
  expect(headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  const labels = `{interface="portcullis0",public_key="${PUBLIC_KEY}"}`;
  expect(text).toBe(`# HELP wireguard_sent_bytes_total Bytes sent to the server.
# TYPE wireguard_sent_bytes_total counter
wireguard_sent_bytes_total${labels} 1234
# HELP wireguard_received_bytes_total Bytes received from the server.
# TYPE wireguard_received_bytes_total counter
wireguard_received_bytes_total${labels} 9007199254740991
# HELP wireguard_latest_handshake_seconds Unix time of the latest handshake, 0 before the first.
# TYPE wireguard_latest_handshake_seconds gauge
wireguard_latest_handshake_seconds${labels} 1700000000.25
# HELP portcullis_connected 1 while there is a live session with a server.
# TYPE portcullis_connected gauge
portcullis_connected 1
# HELP portcullis_killswitch_active 1 while the kernel has the kill switch in place.
# TYPE portcullis_killswitch_active gauge
portcullis_killswitch_active 1
# HELP portcullis_state 1 for the state that the tunnel is in.
# TYPE portcullis_state gauge
portcullis_state{state="disconnected"} 0
portcullis_state{state="connecting"} 0
portcullis_state{state="connected"} 1
portcullis_state{state="reconnecting"} 0
portcullis_state{state="failed"} 0
# HELP portcullis_security_alerts_total Security alerts since the service started.
# TYPE portcullis_security_alerts_total counter
portcullis_security_alerts_total 2
# HELP portcullis_connect_duration_seconds From a connect to its handshake; failed ones are not counted.
# TYPE portcullis_connect_duration_seconds histogram
portcullis_connect_duration_seconds_bucket{le="0.1"} 1
portcullis_connect_duration_seconds_bucket{le="1"} 2
portcullis_connect_duration_seconds_bucket{le="+Inf"} 3
portcullis_connect_duration_seconds_sum 30.5
portcullis_connect_duration_seconds_count 3
# HELP portcullis_build_info The version that runs; always 1.
# TYPE portcullis_build_info gauge
portcullis_build_info{version="${version}",bun="${Bun.version}",arch="${process.arch}"} 1
`);
  expect(parseExposition(text).size).toBe(9);
});

test("without a tunnel there are no figures of WireGuard", async () => {
  const names = [...(await scrape()).keys()];
  expect(names.filter((name) => name.startsWith("wireguard_"))).toEqual([]);
  expect(names).toContain("portcullis_connected");
});

test("a tunnel without a handshake has its time at 0", async () => {
  gateway.tunnel = { interface: "portcullis1", publicKey: PUBLIC_KEY };
  const labels = { interface: "portcullis1", public_key: PUBLIC_KEY };
  expect(await figure("wireguard_latest_handshake_seconds", labels)).toBe(0);
});

test("connected and kill switch are 1 or 0, and exactly one state is 1", async () => {
  for (const state of ["disconnected", "connecting", "connected", "reconnecting", "failed"] as const) {
    gateway.status = async () => ({
      ...(await status.call(gateway)),
      state,
      connected: state === "connected",
    });
    gateway.killSwitch = state !== "failed";
    const metrics = await scrape();
    const samples = metrics.get("portcullis_state")?.samples ?? [];
    expect(samples.filter(({ value }) => value === 1).map(({ labels }) => labels)).toEqual([{ state }]);
    expect(samples).toHaveLength(5);
    expect(await figure("portcullis_connected")).toBe(Number(state === "connected"));
    expect(await figure("portcullis_killswitch_active")).toBe(Number(state !== "failed"));
  }
});

test("a hostile name of an interface stays inside its label", async () => {
  const name = 'a"} 1\nportcullis_connected 7\\n\\{,="\u2028é';
  gateway.tunnel = { interface: name, publicKey: PUBLIC_KEY };
  const labels = { interface: name, public_key: PUBLIC_KEY };
  expect(await figure("wireguard_sent_bytes_total", labels)).toBe(0);
  expect(await figure("portcullis_connected")).toBe(0);
});

test("whatever is in a label or in a help text is read back as it was", () => {
  const text = fc.oneof(fc.string({ unit: "binary" }), fc.stringMatching(/^[\\"\n,={} n]*$/));
  fc.assert(
    fc.property(text, text, (label, tail) => {
      const help = `x${tail}`;
      const samples = [{ labels: { label }, value: 1 }];
      const metric = parseExposition(expositionOf([{ name: "m", type: "gauge", help, samples }])).get("m");
      expect(metric).toEqual({ type: "gauge", help, samples: [{ name: "m", ...samples[0] }] } as never);
    }),
  );
});

test("the only key in it is the server's public one", async () => {
  gateway.tunnel = { interface: "portcullis0", publicKey: PUBLIC_KEY };
  const { text } = await send("GET", "/metrics");
  expect(new Set(text.match(/[A-Za-z0-9+/]{43}=/g))).toEqual(new Set([PUBLIC_KEY]));
});

test("a scrape is not limited, but guarded like everything else", async () => {
  for (let i = 0; i < 15; i++) expect((await again("GET", "/metrics")).status).toBe(200);
  const { headers } = await again("GET", "/metrics");
  expect(headers.has("x-ratelimit-limit")).toBe(false);
  expect((await send("GET", "/metrics", undefined, { Host: "evil.example" })).status).toBe(403);
  expect((await send("GET", "/metrics", undefined, { Origin: "http://evil.example" })).status).toBe(403);
});

test("figures that cannot be read are an error in JSON, as everywhere", async () => {
  gateway.failure = new Error("boom");
  const { status: code, json } = await send("GET", "/metrics");
  expect({ code, json }).toEqual({ code: 500, json: { success: false, error: "internal error" } });
});
