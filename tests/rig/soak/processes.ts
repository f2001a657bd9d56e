import { readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { allLinks } from "../../../src/network/slot.ts";
import type { Gateway, Lab } from "../tools/lab.ts";

interface Process {
  pid: number;
  parent: number;
  state: string;
  command: string;
}

/** Processes in the gateway's namespace that belong to no tunnel and not to the service, and its zombies, a line each. */
export async function leftBehind(lab: Lab, gateway: Gateway): Promise<string[]> {
  const links = await linksIn(lab);
  const all = processes();
  const parents = new Map(all.map(({ pid, parent }) => [pid, parent]));
  const isOfService = (pid: number | undefined): boolean =>
    pid !== undefined && pid > 1 && (pid === gateway.pid || isOfService(parents.get(pid)));
  const inside = processesIn(lab.namespaces.gateway, all);
  const needed = links.map((link) => `wireguard-go ${link}`);
  return [
    ...all.filter(({ parent, state }) => parent === gateway.pid && state === "Z"),
    ...inside.filter(({ pid, command }) => {
      const at = needed.indexOf(command);
      // One process a link.
      if (at >= 0) needed.splice(at, 1);
      return at < 0 && !isOfService(pid);
    }),
  ].map(({ pid, state, command }) => `${pid} ${state} ${command}`);
}

async function linksIn(lab: Lab): Promise<string[]> {
  const { stdout } = await lab.exec(lab.namespaces.gateway, ["ip", "-j", "link", "show"]);
  const present: string[] = JSON.parse(stdout).map(({ ifname }: { ifname: string }) => ifname);
  return allLinks(lab.sandbox.interface).filter((link) => present.includes(link));
}

export function processesIn(name: string, all: readonly Process[] = processes()): Process[] {
  const net = `net:[${statSync(`/run/netns/${name}`).ino}]`;
  return all.filter(({ pid }) => {
    try {
      return readlinkSync(`/proc/${pid}/ns/net`) === net;
    } catch {
      return false;
    }
  });
}

function processes(): Process[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, "utf8");
        // The name in parentheses may hold anything (proc_pid_stat(5)).
        const [state = "", parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
        const command = readFileSync(`/proc/${name}/cmdline`, "utf8").replaceAll("\0", " ").trim();
        return [{ pid: Number(name), parent: Number(parent), state, command }];
      } catch {
        return [];
      }
    });
}
