import type { Address } from "../../src/base/address.ts";
import type { Protocol } from "../../src/forwards/opener.ts";
import {
  anotherOperationBytes,
  anotherVersionBytes,
  answerBytes,
  RESULT,
  requestIn,
} from "../../src/port-mapping/nat-pmp.ts";

interface Mapping {
  protocol: Protocol;
  internal: number;
  external: number;
  /** In seconds on its own clock. */
  expires: number;
}

/** The NAT-PMP server of a provider, inside the tunnel: it gives ports of its choice, for a minute, to one key. */
export class ProviderNatPmp {
  /** What it answers to mappings instead, from now on. */
  result: number = RESULT.success;
  most = 5;
  longest = 60;
  /** Whether it gives the port that a client asks for. */
  isObliging = true;
  /** The port that it gives next. */
  next = 50_326;
  mappings: Mapping[] = [];
  private startedAt: number;

  constructor(
    /** In seconds. */
    private readonly now: () => number,
    readonly address: Address | null,
  ) {
    this.startedAt = now();
  }

  restart(): void {
    this.startedAt = this.now();
    this.mappings = [];
  }

  answer(packet: Uint8Array): Uint8Array | null {
    const request = requestIn(packet);
    if (request === null) return null;
    const epoch = Math.floor(this.now() - this.startedAt);
    switch (request.asks) {
      case "another version":
        return anotherVersionBytes(epoch);
      case "another operation":
        return anotherOperationBytes(packet, epoch);
      case "address": {
        const result = this.address === null ? RESULT.network : RESULT.success;
        return answerBytes({ answers: "address", result, epoch, address: this.address });
      }
      case "mapping": {
        const { result, external, lifetime } = this.map(request);
        return answerBytes({ ...request, answers: "mapping", result, epoch, external, lifetime });
      }
    }
  }

  private map({ protocol, internal, external, lifetime }: Omit<Mapping, "expires"> & { lifetime: number }) {
    this.mappings = this.mappings.filter(({ expires }) => expires > this.now());
    const others = this.mappings.filter((each) => each.protocol !== protocol || each.internal !== internal);
    const known = this.mappings.find((each) => !others.includes(each));
    if (this.result !== RESULT.success) return { result: this.result, external: 0, lifetime: 0 };
    this.mappings = others;
    if (lifetime === 0) return { result: RESULT.success, external: 0, lifetime: 0 };
    if (new Set(others.map((each) => each.internal).concat(internal)).size > this.most)
      return { result: RESULT.resources, external: 0, lifetime: 0 };
    const granted = Math.min(lifetime, this.longest);
    const port = known?.external ?? this.free(protocol, internal, external);
    this.mappings.push({ protocol, internal, external: port, expires: this.now() + granted });
    return { result: RESULT.success, external: port, lifetime: granted };
  }

  /** Both protocols of one internal port get the same number, as at Proton. */
  private free(protocol: Protocol, internal: number, wanted: number): number {
    const companion = this.mappings.find((each) => each.internal === internal && each.protocol !== protocol);
    if (companion !== undefined) return companion.external;
    const isTaken = this.mappings.some(({ external }) => external === wanted);
    return this.isObliging && wanted !== 0 && !isTaken ? wanted : this.next++;
  }
}
