import { describe, expect } from "bun:test";
import { ml_kem1024 } from "@noble/post-quantum/ml-kem.js";
import { GatewayError } from "../../src/base/errors.ts";
import type { Server } from "../../src/servers/schema.ts";
import type { ProcedureCall } from "../../src/system/host.ts";
import type { FakeHost } from "../fake/host.ts";
import { slow } from "../fast.ts";
import { inDirectory } from "./directory.ts";
import { Gateway, ONE, stoodAlways, TWO } from "./gateway.ts";

const { test } = slow;

const SERVICE = "10.64.0.1:1337";
const ON: Server = { ...ONE, quantum: "on" };
const REQUIRED: Server = { ...ONE, quantum: "require" };
/** As WireGuard says it: clamped (RFC 7748, 5). */
const NORMAL_KEY = Uint8Array.fromBase64(ONE.config.interface.privateKey).with(31, 72).toBase64();

/** A test with a gateway that has started. */
function claim(text: string, work: (gateway: Gateway) => Promise<void>): void {
  test(text, () => inDirectory(async (directory) => work(await Gateway.started(directory))));
}

/** Fields of a message, each after its number and its length. */
function field(number: number, bytes: Uint8Array): Uint8Array {
  const length = bytes.length < 128 ? [bytes.length] : [(bytes.length & 127) | 128, bytes.length >> 7];
  return Buffer.concat([Uint8Array.from([number * 8 + 2, ...length]), bytes]);
}

/** A service as Mullvad's servers have it; `secrets` are what it has agreed on, in base64. */
function serve(host: FakeHost): { secrets: string[]; calls: ProcedureCall[] } {
  const secrets: string[] = [];
  const calls: ProcedureCall[] = [];
  host.services.set(SERVICE, (call) => {
    calls.push(call);
    // The key ends the only offer, which ends the request.
    const { cipherText, sharedSecret } = ml_kem1024.encapsulate(call.message.slice(-1568));
    secrets.push(sharedSecret.toBase64());
    return field(1, field(1, cipherText));
  });
  return { secrets, calls };
}

function deviceOf(host: FakeHost, link = "wg0") {
  const { privateKey, peer } = host.links.get(link)?.device ?? {};
  return { privateKey, presharedKey: peer?.presharedKey };
}

/** Adds to the log what happens at each event. */
function watchEvents(host: FakeHost, take: (event: string) => string | null): string[] {
  const seen: string[] = [];
  host.onEvent = (event) => {
    const text = take(event);
    if (text !== null) seen.push(text);
  };
  return seen;
}

describe("a tunnel that requires keys safe from quantum computers", () => {
  claim("has other keys and the agreed secret before anything is routed into it", async (gateway) => {
    const { controller, host } = gateway;
    const { secrets, calls } = serve(host);
    const seen = watchEvents(host, (event) => {
      const routes = `${[...host.routes.keys()]}`;
      const permits = /tcp dport 1337/.test(host.table ?? "");
      const forwards = /oifname "wg0".*jump into_wg0/.test(host.table ?? "");
      if (event.startsWith("call "))
        return `call: routes ${routes}, permits ${permits}, forwards ${forwards}`;
      return null;
    });
    await controller.connect(REQUIRED);
    expect(seen).toEqual(["call: routes 10.64.0.1/32, permits true, forwards false"]);
    expect(calls).toMatchObject([
      { link: "wg0", mark: 0x104e, path: "/ephemeralpeer.EphemeralPeer/RegisterPeerV1", withinMs: 8_000 },
    ]);
    const { privateKey, presharedKey } = deviceOf(host);
    expect(presharedKey).toBe(secrets[0]);
    expect(privateKey).not.toBe(NORMAL_KEY);
    expect([...host.routes.keys()].toSorted()).toEqual(["0.0.0.0/0", "::/0"]);
    expect(host.table).not.toContain("1337");
    expect(await controller.status("custom")).toMatchObject({ connected: true, quantum: true });
    expect(await controller.row()).toMatchObject({ quantum: true, wanted_quantum: "require" });
    expect(stoodAlways(host)).toBe(true);
  });

  claim("carries nothing where the server has no such keys", async ({ controller, host }) => {
    await expect(controller.connect(REQUIRED)).rejects.toMatchObject({
      code: "unable",
      message:
        "one agreed on no keys that are safe from quantum computers: 10.64.0.1:1337 takes no connections",
    });
    expect([...host.routes]).toEqual([]);
    expect([...host.links.keys()].filter((name) => name.startsWith("wg"))).toEqual([]);
    expect(host.table).not.toContain("wg0");
    expect(await controller.status("custom")).toMatchObject({ connected: false, state: "failed" });
    expect(stoodAlways(host)).toBe(true);
  });

  claim("carries nothing if the server does not answer the new keys", async ({ controller, host }) => {
    serve(host);
    watchEvents(host, (event) => {
      if (event.startsWith("call ")) host.silent.add("192.0.2.1:51820");
      return null;
    });
    await expect(controller.connect(REQUIRED)).rejects.toMatchObject({ code: "no_answer" });
    expect([...host.routes]).toEqual([]);
    expect(host.table).not.toContain("wg0");
  });

  claim("waits for an answer for 8 s, then twice as long each time, 48 s at most", async (gateway) => {
    const { controller, host } = gateway;
    const within: number[] = [];
    host.services.set(SERVICE, ({ withinMs }) => {
      within.push(withinMs);
      throw new GatewayError("timed_out", `${SERVICE} did not answer within ${withinMs / 1000} s`);
    });
    for (let attempt = 0; attempt < 5; attempt++)
      await expect(controller.connect(REQUIRED)).rejects.toMatchObject({ code: "no_answer" });
    expect(within).toEqual([8_000, 16_000, 32_000, 48_000, 48_000]);
    const { calls } = serve(host);
    await controller.connect(REQUIRED);
    await controller.disconnect();
    await controller.connect(REQUIRED);
    expect(calls.map(({ withinMs }) => withinMs)).toEqual([48_000, 8_000]);
  });

  claim("leaves the former tunnel alone while it agrees, and if it fails", async ({ controller, host }) => {
    await controller.connect(TWO);
    const seen = watchEvents(host, (event) =>
      event.startsWith("call ") ? `${event}: ${[...host.routes].join(" ")}` : null,
    );
    await expect(controller.connect(REQUIRED)).rejects.toMatchObject({ code: "unable" });
    expect(seen).toEqual([`call ${SERVICE} by wg1 within 8000: 0.0.0.0/0,wg0 192.0.0.0/8,wg0`]);
    expect(await controller.status("custom")).toMatchObject({ connected: true, server: "two" });
    expect([...host.routes.values()]).toEqual(["wg0", "wg0"]);
    const { secrets } = serve(host);
    await controller.connect(REQUIRED);
    expect(deviceOf(host, "wg1").presharedKey).toBe(secrets[0]);
    expect(stoodAlways(host)).toBe(true);
  });

  claim("agrees on new keys at each connect and after each loss", async (gateway) => {
    const { controller, host } = gateway;
    const { secrets } = serve(host);
    await controller.connect(REQUIRED);
    controller.lost("one no longer answers");
    await gateway.look();
    expect(await controller.status("custom")).toMatchObject({ connected: true, quantum: true });
    expect(secrets.length).toBe(2);
    const link = [...host.routes.values()][0];
    expect(deviceOf(host, link).presharedKey).toBe(secrets[1]);
  });

  claim("is not taken up by another process, which agrees on new keys", async (gateway) => {
    const { host } = gateway;
    const { secrets } = serve(host);
    await gateway.controller.connect(REQUIRED);
    const before = deviceOf(host);
    await gateway.restart();
    expect(gateway.controller.state.name).toBe("reconnecting");
    expect([...host.routes]).toEqual([]);
    await gateway.look();
    expect(await gateway.status()).toMatchObject({ connected: true, server: "one", quantum: true });
    expect(secrets.length).toBe(2);
    expect(deviceOf(host)).not.toEqual(before);
    expect(deviceOf(host).presharedKey).toBe(secrets[1]);
    expect(stoodAlways(host)).toBe(true);
  });

  claim("has them after a restart, too, if it was required meanwhile, as by a restore", async (gateway) => {
    const { host, savedState } = gateway;
    const { secrets } = serve(host);
    await gateway.controller.connect(ONE);
    savedState.saveQuantum("require", "main");
    await gateway.restart();
    expect([...host.routes]).toEqual([]);
    await gateway.look();
    expect(await gateway.status()).toMatchObject({ connected: true, server: "one", quantum: true });
    expect(deviceOf(host).presharedKey).toBe(secrets[0]);
  });

  claim("is not taken up as it was while the keys were being agreed on", async (gateway) => {
    const { host } = gateway;
    host.services.set(SERVICE, () => new Promise(() => {}));
    void gateway.controller.connect(REQUIRED).catch(() => {});
    for (let turn = 0; turn < 200 && !host.routes.has("10.64.0.1/32"); turn++) await Bun.sleep(1);
    expect([...host.routes]).toEqual([["10.64.0.1/32", "wg0"]]);
    await gateway.restart();
    expect([...host.routes]).toEqual([]);
    expect(gateway.controller.state.name).toBe("disconnected");
  });
});

describe("a tunnel that has such keys if its server can", () => {
  claim("goes on without where it cannot, and says so", async ({ controller, host, log }) => {
    await controller.connect(ON);
    expect(await controller.status("custom")).toMatchObject({ connected: true, quantum: false });
    expect(deviceOf(host)).toEqual({ privateKey: NORMAL_KEY, presharedKey: null });
    expect([...host.routes.keys()].toSorted()).toEqual(["0.0.0.0/0", "::/0"]);
    expect(log.filter((line) => line.includes("quantum"))).toEqual([
      "one agreed on no keys that are safe from quantum computers: 10.64.0.1:1337 takes no connections; going on without",
    ]);
  });

  claim("goes back to its own keys if the server does not answer the new ones", async (gateway) => {
    const { controller, host } = gateway;
    serve(host);
    const configured = watchEvents(host, (event) => {
      if (event.startsWith("call ")) host.silent.add("192.0.2.1:51820");
      return event.startsWith("wg setconf") ? event : null;
    });
    const { onEvent } = host;
    host.onEvent = (event) => {
      onEvent(event);
      if (configured.length === 3) host.silent.clear();
    };
    await controller.connect(ON);
    expect(await controller.status("custom")).toMatchObject({ connected: true, quantum: false });
    expect(deviceOf(host)).toEqual({ privateKey: NORMAL_KEY, presharedKey: null });
  });

  claim(
    "gets them by another connect to where it is, and then is not moved",
    async ({ controller, host }) => {
      await controller.connect(ON);
      // Until then, a second request shares the outcome of the first.
      await Bun.sleep(0);
      const { secrets } = serve(host);
      await controller.connect(ON);
      expect(await controller.status("custom")).toMatchObject({ connected: true, quantum: true });
      const link = [...host.routes.values()][0];
      expect(deviceOf(host, link).presharedKey).toBe(secrets[0]);
      await controller.connect(ON);
      expect(secrets.length).toBe(1);
      expect(stoodAlways(host)).toBe(true);
    },
  );

  claim("waits for 8 s each time, because devices wait meanwhile", async ({ controller, host }) => {
    const within: number[] = [];
    host.services.set(SERVICE, ({ withinMs }) => {
      within.push(withinMs);
      throw new GatewayError("timed_out", `${SERVICE} did not answer within ${withinMs / 1000} s`);
    });
    for (let attempt = 0; attempt < 3; attempt++) {
      await controller.connect(ON);
      await controller.disconnect();
    }
    expect(within).toEqual([8_000, 8_000, 8_000]);
  });

  claim("is taken up by another process if it has none", async (gateway) => {
    await gateway.controller.connect(ON);
    await gateway.restart();
    expect(await gateway.status()).toMatchObject({ connected: true, quantum: false });
  });
});

test("keys are in no command, log line, error or saved text", () =>
  inDirectory(async (directory) => {
    const gateway = await Gateway.started(directory);
    const { controller, host, store } = gateway;
    const { secrets } = serve(host);
    await controller.connect(REQUIRED);
    const { privateKey = "" } = deviceOf(host);
    const status = JSON.stringify([await controller.status("custom"), await controller.row()]);
    const texts = [
      ...host.commands,
      ...gateway.log,
      ...gateway.warnings,
      status,
      store.read("connection") ?? "",
    ];
    expect(store.read("connection")).toContain('"quantum":"require"');
    for (const secret of [privateKey, secrets[0] ?? "", ONE.config.interface.privateKey]) {
      expect(secret.length).toBe(44);
      expect(texts.filter((text) => text.includes(secret))).toEqual([]);
    }
  }));

describe("an answer that is none", () => {
  const cipherText = ml_kem1024.encapsulate(ml_kem1024.keygen().publicKey).cipherText;
  const answers = {
    "of nothing": new Uint8Array(),
    "without a ciphertext": field(1, new Uint8Array()),
    "with a short one": field(1, field(1, cipherText.slice(1))),
    "with two": field(1, Buffer.concat([field(1, cipherText), field(1, cipherText)])),
    "that is cut off": field(1, field(1, cipherText)).slice(0, -1),
    "with a number in place of bytes": Uint8Array.of(8, 1),
    "with an endless length": new Uint8Array(20).fill(255),
  };
  for (const [how, answer] of Object.entries(answers))
    claim(`${how} is refused`, async ({ controller, host }) => {
      host.services.set(SERVICE, () => answer);
      await expect(controller.connect(REQUIRED)).rejects.toThrow("gave an answer that is not understood");
    });
});
