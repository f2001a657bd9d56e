import { MAX_TUNNELS } from "../../../src/network/slot.ts";
import { TUNNEL } from "../../../src/sandbox/topology.ts";
import { LinuxHost } from "../../../src/system/linux.ts";
import { generateKeyPair } from "../../../src/wireguard/key.ts";
import { NamespaceHost } from "../../namespace-host.ts";
import { atMost, type Measurement, measurementOf } from "./measure.ts";
import type { Portcullis } from "./portcullis.ts";

/** In milliseconds, on two cores with warm caches. */
const AIM = atMost(15);
const ASSIGNED = [0, 250];
/** The interface allows five orders a second to a client. */
const PAUSE_MS = 250;
/** Only on loopback does one machine have so many addresses, each with a limit of its own. */
const CLIENTS = 200;
const DEVICE = "/api/devices/02:00:00:00:ff:01";

interface Round {
  assignMs: number;
  moveMs: number;
  wholeMs: number;
}

/**
 * A device gets an exit of its own, and then another one, while all tunnels are up; against the naive way, which loads
 * the whole table by `nft -f`.
 */
export async function measureDevices(side: Portcullis, rounds: number): Promise<Measurement[]> {
  const measurements: Measurement[] = [];
  await openTunnels(side);
  let assigned = 0;
  for (const many of ASSIGNED) {
    for (; assigned < many; assigned += 1) await assignOther(side, assigned);
    const found: Round[] = [];
    while (found.length < rounds) found.push(await assignAndMove(side));
    const line = (what: string, of: (round: Round) => number) =>
      measurementOf({
        name: `${what}, ${MAX_TUNNELS} tunnels, ${many} others assigned (against nft -f)`,
        ...{ unit: "ms", portcullis: found.map(of), wgQuick: found.map(({ wholeMs }) => wholeMs), aim: AIM },
      });
    measurements.push(
      line("assign a device", ({ assignMs }) => assignMs),
      line("move a device", ({ moveMs }) => moveMs),
    );
  }
  await closeTunnels(side);
  return measurements;
}

/** Each has a key of its own at the same server. */
async function openTunnels(side: Portcullis): Promise<void> {
  const { sandbox, namespaces } = side.lab;
  for (let number = 0; number < MAX_TUNNELS; number += 1) {
    const { publicKey, privateKey } = generateKeyPair();
    const address = TUNNEL.prefix4.replace("0/24", `${100 + number}/32`);
    const peer = ["peer", publicKey, "allowed-ips", address];
    await side.lab.exec(namespaces.vpn1, ["wg", "set", sandbox.serverInterfaces.vpn1, ...peer]);
    const keys = { name: `bench-${number}`, private_key: privateKey, address };
    await side.call("POST", "/api/custom/add", { ...sandbox.servers[0].customBody, ...keys });
    await side.call("PUT", `/api/tunnels/${tunnelOf(number)}`, { provider: "custom", server: keys.name });
    await Bun.sleep(PAUSE_MS);
  }
}

async function closeTunnels(side: Portcullis): Promise<void> {
  for (let number = 0; number < MAX_TUNNELS; number += 1) {
    await side.call("POST", `/api/tunnels/${tunnelOf(number)}/disconnect`);
    await Bun.sleep(PAUSE_MS);
  }
}

async function assignAndMove(side: Portcullis): Promise<Round> {
  const order = async (method: string, body?: unknown) => {
    const { startedAt, endedAt } = await side.call(method, DEVICE, body);
    await Bun.sleep(PAUSE_MS);
    return endedAt - startedAt;
  };
  const assignMs = await order("PUT", { exit: tunnelOf(1) });
  const wholeMs = await loadWhole(side);
  const moveMs = await order("PUT", { exit: tunnelOf(MAX_TUNNELS - 1) });
  await order("DELETE");
  return { assignMs, moveMs, wholeMs };
}

/** The table as it is now, in a namespace where nothing else happens. */
async function loadWhole(side: Portcullis): Promise<number> {
  const { namespaces } = side.lab;
  const machine = new LinuxHost();
  const naive = `${namespaces.gateway}-naive`;
  const { stdout } = await side.lab.exec(namespaces.gateway, ["nft", "list", "table", "inet", "portcullis"]);
  const stdin = `add table inet portcullis\ndelete table inet portcullis\n${stdout}`;
  await machine.run(["ip", "netns", "add", naive]);
  try {
    const host = new NamespaceHost(naive);
    await host.run(["nft", "-f", "-"], { stdin });
    const startedAt = host.monotonic();
    await host.run(["nft", "-f", "-"], { stdin });
    return host.monotonic() - startedAt;
  } finally {
    await machine.run(["ip", "netns", "del", naive]);
  }
}

async function assignOther(side: Portcullis, number: number): Promise<void> {
  const mac = `02:00:00:00:00:${number.toString(16).padStart(2, "0")}`;
  const url = `http://127.0.0.1:${side.gateway.port}/api/devices/${mac}`;
  const from = ["--interface", `127.0.1.${1 + (number % CLIENTS)}`];
  const body = JSON.stringify({ exit: tunnelOf(number % MAX_TUNNELS) });
  const put = ["-X", "PUT", "-H", "content-type: application/json", "--data-binary", body];
  const { stdout } = await side.lab.exec(side.lab.namespaces.gateway, ["curl", "-s", ...from, ...put, url]);
  if (!stdout.includes("true")) throw new Error(`${mac} could not be assigned: ${stdout}`);
}

function tunnelOf(number: number): string {
  return number === 0 ? "main" : `bench-${number}`;
}
