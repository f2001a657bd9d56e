import type { Lab } from "../tools/lab.ts";
import { type Mark, Marker, markIn } from "../tools/marker.ts";
import { Wiretap } from "../tools/wiretap.ts";

/** The servers of two tunnels, and the home router's cable. */
export type Place = "main" | "second" | "clear";

/** What each place saw of marked devices, and what left outside the tunnels besides. */
export type Seen = Record<Place, readonly Mark[]> & { leaks: string[] };

/** Answers and errors have the mark as well. */
const QUESTION = / > (203\.0\.113|2001:db8|10\.64\.0\.1\.|fd64::1\.)/;

/** What the places saw while the work was done and these devices, by their numbers, sent packets of all kinds. */
export async function seenAt(
  lab: Lab,
  devices: readonly (readonly [number: number, namespace: string])[],
  work: () => Promise<unknown>,
): Promise<Seen> {
  const { vpn1, vpn2 } = lab.sandbox.serverInterfaces;
  const filter = "udp or tcp or ip6";
  const [sniffer, ...taps] = await Promise.all([
    lab.sniff(),
    Wiretap.start(lab.namespaces.vpn1, vpn1, filter),
    Wiretap.start(lab.namespaces.vpn2, vpn2, filter),
    Wiretap.start(lab.namespaces.router, "lan0", filter),
  ]);
  const markers = await Promise.all(devices.map(([number, namespace]) => Marker.start(namespace, number)));
  await work().finally(() => Promise.all(markers.map((marker) => marker.stop())));
  const [{ leaks }, [main = [], second = [], clear = []]] = await Promise.all([
    sniffer.stop(),
    Promise.all(taps.map(marksIn)),
  ]);
  return { main, second, clear, leaks };
}

async function marksIn(tap: Wiretap): Promise<Mark[]> {
  return (await tap.stop()).flatMap((line) => {
    const mark = QUESTION.test(line) ? markIn(line) : null;
    return mark === null ? [] : [mark];
  });
}

/** Which kinds of packets of each of these devices were seen at each place. */
export function tableOf({ main, second, clear }: Seen, devices: readonly number[]) {
  return devices.map((device) => ({
    main: kindsOf(main, device),
    second: kindsOf(second, device),
    clear: kindsOf(clear, device),
  }));
}

export function kindsOf(marks: readonly Mark[], device: number): Mark["kind"][] {
  return [...new Set(marks.filter((mark) => mark.device === device).map(({ kind }) => kind))].sort();
}
