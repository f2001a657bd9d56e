import { COMPILED } from "../../base/compiled.ts";
import { RELAYS } from "../../transports/list.ts";
import type { Carriage } from "../../transports/transport.ts";
import type { OpenRelay, RelayPlace } from "../host.ts";
import { RelayThread } from "./relay-thread.ts";

/** Where the workers are: in the executable below the folder of the main file, or beside this file. */
const FOLDER = COMPILED ? "/$bunfs/root/system/relay/" : null;

/**
 * All relays. Those by UDP have a thread of their own, which takes many packets with one call; the streams of TCP are in
 * another one, because a thread that waits in the kernel serves no event loop.
 */
export class Relays {
  private readonly streams = new RelayThread(workerAt("relay-worker"), false);
  private readonly datagrams = new RelayThread(workerAt("datagram-worker"), true);

  open(place: RelayPlace): Promise<OpenRelay> {
    return this.threadFor(RELAYS[place.way.by].carriage.kind).open(place);
  }

  private threadFor(kind: Carriage<object>["kind"]): RelayThread {
    switch (kind) {
      case "datagrams":
        return this.datagrams;
      case "stream":
        return this.streams;
    }
  }
}

function workerAt(name: string): string {
  return FOLDER === null ? new URL(`./${name}.ts`, import.meta.url).href : `${FOLDER}${name}.js`;
}
