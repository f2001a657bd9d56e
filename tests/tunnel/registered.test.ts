import { describe, expect } from "bun:test";
import type { Server } from "../../src/servers/schema.ts";
import type { Register } from "../../src/tunnel/dialer.ts";
import { ip } from "../fake/address.ts";
import { slow } from "../fast.ts";
import { inDirectory } from "./directory.ts";
import { Gateway, kernelState, ONE, placeOf, server, stoodAlways } from "./gateway.ts";

const { test } = slow;

/** A server that assigns keys and addresses, as the list has it. */
function unregistered(name: string, number: number): Server {
  const { config, ...rest } = server(name, number);
  return {
    ...rest,
    provider: "managed",
    registers: true,
    config: {
      interface: { privateKey: "", addresses: [], dns: [], searchDomains: [] },
      peer: { ...config.peer, publicKey: "", endpoint: { ...config.peer.endpoint, port: 1337 } },
    },
  };
}

const BERLIN = unregistered("berlin", 4);
const PARIS = unregistered("paris", 5);
const ADDRESSES: Record<string, string> = { berlin: "192.0.2.4", paris: "192.0.2.5" };

let gateway: Gateway;
/** What was asked over HTTPS, with the rules that accept TCP at that moment. */
let asked: { event: string; firewall: string[] }[];
/** The connections that were assigned. */
let assigned: Server["config"][];

/** Each connection gets another key; the answer comes from the server itself. */
const register: Register = async ({ name }, send) => {
  const url = `https://${name}:1337/addKey`;
  await send({ url, method: "GET", headers: {}, addresses: [ip(ADDRESSES[name] ?? "")] });
  const number = 9 + assigned.length;
  const { config } = server(name, number);
  const endpoint = { host: ADDRESSES[name] ?? "", port: 51820 + assigned.length };
  assigned.push({ ...config, peer: { ...config.peer, endpoint } });
  return assigned.at(-1) ?? config;
};

function claim(name: string, work: () => Promise<void>): void {
  test(name, () =>
    inDirectory(async (directory) => {
      gateway = await Gateway.started(directory);
      gateway.register = register;
      asked = [];
      assigned = [];
      const { host } = gateway;
      for (const each of [BERLIN, PARIS])
        host.pages.set(`https://${each.name}:1337/addKey`, { status: 200, headers: {}, body: "" });
      host.onEvent = (event) => {
        if (event.startsWith("https ")) asked.push({ event, firewall: holes() });
      };
      await work();
      expect(stoodAlways(host)).toBe(true);
    }),
  );
}

function holes(): string[] {
  const lines = gateway.host.table?.split("\n") ?? [];
  return lines
    .filter((line) => /tcp sport .* accept/.test(line))
    .map((line) => line.trim().split(" comment")[0] ?? "");
}

function mine(): unknown {
  const { state } = gateway.controller;
  return state.name === "connected" ? state.session.server.config : state.name;
}

describe("a server that registers keys", () => {
  claim(
    "is asked through one exemption for its address and port, which is gone when the tunnel is up",
    async () => {
      await gateway.controller.connect(BERLIN);
      const port = /from (\d+)$/.exec(asked[0]?.event ?? "")?.[1];
      expect(asked).toEqual([
        {
          event: `https https://berlin:1337/addKey at 192.0.2.4 from ${port}`,
          firewall: [
            `iifname "up0" ip saddr 192.0.2.4 tcp sport 1337 tcp dport ${port} accept`,
            `oifname "up0" ip daddr 192.0.2.4 tcp sport ${port} tcp dport 1337 accept`,
          ],
        },
      ]);
      expect([holes(), mine()]).toEqual([[], assigned[0]]);
      expect((await gateway.status()).server).toBe("berlin");
      expect(gateway.log).toContain(
        `an exemption to register with the provider: one connection to berlin:1337 (192.0.2.4) outside the tunnel, from port ${port}`,
      );
    },
  );

  claim("is asked through the tunnel that is up, and nothing is opened", async () => {
    await gateway.controller.connect(ONE);
    await gateway.controller.connect(BERLIN);
    expect(asked).toEqual([
      {
        event: "https https://berlin:1337/addKey at 192.0.2.4 from any port of 10.64.0.1,fd00:64::1",
        firewall: [],
      },
    ]);
    await gateway.controller.connect(PARIS);
    expect([asked.length, mine()]).toEqual([2, assigned[1]]);
  });

  claim("leaves everything as it was if it refuses, and the message is the refusal's", async () => {
    const before = kernelState(gateway.host);
    gateway.register = async (...request) => {
      await register(...request);
      throw new Error("the account has expired");
    };
    await expect(gateway.controller.connect(BERLIN)).rejects.toThrow("the account has expired");
    expect([kernelState(gateway.host), (await gateway.status()).error]).toEqual([
      before,
      "the account has expired",
    ]);
  });

  claim("which does not answer is given up at a disconnect, and its exemption is removed", async () => {
    const before = kernelState(gateway.host);
    gateway.host.pages.clear();
    const began = Promise.withResolvers<void>();
    const { onEvent } = gateway.host;
    gateway.host.onEvent = (event) => {
      onEvent(event);
      if (event.startsWith("https ")) began.resolve();
    };
    const failed = gateway.controller.connect(BERLIN).catch((error: Error) => error.message);
    await began.promise;
    expect(holes().length).toBe(2);
    await gateway.controller.disconnect();
    expect([await failed, kernelState(gateway.host)]).toEqual(["interrupted by a disconnect", before]);
  });

  claim("is registered with again by each attempt to come back, outside the dead tunnel", async () => {
    await gateway.controller.connect(BERLIN);
    gateway.controller.lost("for the test");
    await gateway.controller.redial(BERLIN, new AbortController().signal);
    expect(asked.map(({ firewall }) => firewall.length)).toEqual([2, 2]);
    expect([holes(), mine()]).toEqual([[], assigned[1]]);
  });

  claim("that the tunnel leads to already is not asked again", async () => {
    await gateway.controller.connect(BERLIN);
    await gateway.controller.connect(BERLIN);
    await gateway.controller.connect(placeOf([BERLIN, PARIS]));
    expect(asked.length).toBe(1);
  });

  claim("is chosen for a place without a handshake, for that would need a registration", async () => {
    await gateway.controller.connect(placeOf([PARIS, BERLIN]));
    expect([asked.length, mine()]).toEqual([1, assigned[0]]);
  });

  claim("may be used by two tunnels at once, with a key of each", async () => {
    const other = await gateway.tunnels.opened("other");
    await Promise.all([gateway.controller.connect(BERLIN), other.controller.connect(BERLIN)]);
    expect(other.controller.state.name).toBe("connected");
    const keys = assigned.map(({ interface: own }) => own.privateKey);
    expect(new Set(keys).size).toBe(2);
    expect(holes()).toEqual([]);
  });

  claim("is still known after a restart: its tunnel is taken up as it is", async () => {
    await gateway.controller.connect(BERLIN);
    const before = kernelState(gateway.host);
    gateway.reborn();
    gateway.register = () => Promise.reject(new Error("nobody asks"));
    // Each list of the provider has other servers.
    await gateway.tunnels.start({ all: () => [PARIS], server: () => null, reachedAt: (found) => found });
    expect([mine(), kernelState(gateway.host)]).toEqual([assigned[0], before]);
    // With the tunnel, its key is forgotten.
    await gateway.controller.disconnect();
    expect(gateway.store.read("connection")).toBe("null");
  });

  claim("is registered with again after a restart if its tunnel is gone", async () => {
    await gateway.controller.connect(BERLIN);
    gateway.host.links.delete("wg0");
    gateway.reborn();
    await gateway.tunnels.start({ all: () => [PARIS], server: () => null, reachedAt: (found) => found });
    expect(gateway.controller.state.name).toBe("reconnecting");
    await gateway.look();
    expect([asked.length, mine()]).toEqual([2, assigned[1]]);
  });
});
