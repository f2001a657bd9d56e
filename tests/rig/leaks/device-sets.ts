import assert from "node:assert/strict";
import { LAN, VPN } from "../../../src/sandbox/topology.ts";
import { Listener } from "../tools/listener.ts";
import type { Exit } from "./devices.ts";
import type { Scenario, Stage } from "./stage.ts";
import { repaired } from "./tampering.ts";

/** In a row, so that some come while the service repairs the one before. */
const FLUSHES = 5;
/** Of names, of names over TLS, and of no resolver. */
const [DNS, DOT, OTHER] = [53, 853, 8_530];

/** The sets in which the kernel has the exits of devices, and what else depends on them. */
export const DEVICE_SETS: readonly Scenario[] = [
  {
    name: "the sets of devices are emptied one by one, together and in part, and repaired",
    cards: [2, 1],
    from: "connected",
    run: async (stage) => {
      const macs = [1, 2].map((device) => stage.devices.numbered(device).mac).join(", ");
      const sets = ["flush set inet portcullis assigned", "flush map inet portcullis exit_of"];
      for (const commands of [
        // Those that are gone are no error.
        ["add", "delete"].map((verb) => `${verb} element inet portcullis assigned { ${macs} }`),
        ...sets.map((set) => [set]),
        sets,
        [...sets, "flush set inet portcullis on_second"],
      ])
        await repaired(stage, async () => {
          for (let times = 0; times < FLUSHES; times += 1) await nft(stage, commands);
        });
    },
  },
  {
    name: "the sets of devices are emptied, and nobody repairs them",
    cards: [2, 1],
    from: "connected",
    run: async (stage) => {
      const { mac } = stage.devices.numbered(1);
      await stage.gateway.kill("SIGKILL");
      await nft(stage, ["flush set inet portcullis assigned"]);
      await stage.sees(null);
      await stage.served();
      await nft(stage, ["flush map inet portcullis exit_of"]);
      await lead(stage, "blocked", "blocked");
      await stage.observe();
      await stage.sees(null);
      await lead(stage, "blocked", "blocked");
      await stage.gateway.start();
      await lead(stage, "second", "direct");
      await stage.mended();
      await stage.sees(VPN.vpn1.v4);
      // Positive control: who is taken out of all of them is one whom nobody has assigned.
      await stage.gateway.kill("SIGKILL");
      await nft(
        stage,
        ["assigned", "exit_of"].map((set) => `delete element inet portcullis ${set} { ${mac} }`),
      );
      await lead(stage, "main", "direct");
      await stage.served();
      await stage.gateway.start();
      await lead(stage, "second", "direct");
      await stage.mended();
    },
  },
  {
    name: "a resolver on the gateway, which asks through main, hears the devices of main alone",
    cards: [2, 1],
    from: "connected",
    spares: [1, 3],
    run: async (stage) => {
      const own = [LAN.client4, LAN.client6];
      const others = [1, 2].map((device) => stage.devices.numbered(device));
      const namespaces = [stage.lab.namespaces.client, ...others.map(({ namespace }) => namespace)];
      for (const port of [DNS, DOT, OTHER]) {
        const heard = await heardAt(stage, port, namespaces);
        // Without the firewall, it hears all.
        if (!stage.isWhole) continue;
        const more = port === OTHER ? others.flatMap(({ v4, v6 }) => [v4, v6]) : [];
        assert.deepEqual([port, heard], [port, [...own, ...more].toSorted()]);
      }
    },
  },
];

async function nft(stage: Stage, commands: readonly string[]): Promise<void> {
  const { stderr } = await stage.inside("nft", commands.join("; "));
  if (stage.isWhole) assert.equal(stderr, "");
}

/** What they send from now on counts for these exits. */
async function lead(stage: Stage, first: Exit, third: Exit): Promise<void> {
  await stage.devices.areLed(1, first);
  await stage.devices.areLed(3, third);
}

/** Of which addresses of these computers a program at that port of the gateway hears, over TCP and UDP. */
async function heardAt(stage: Stage, port: number, namespaces: readonly string[]): Promise<string[]> {
  const listener = await Listener.start(stage.lab.namespaces.gateway, port);
  for (const namespace of namespaces)
    for (const address of [LAN.gateway4, LAN.gateway6])
      for (const protocol of ["tcp", "udp"])
        await stage.lab.exec(namespace, ["bash", "-c", `echo x > /dev/${protocol}/${address}/${port}`]);
  return listener.stop();
}
