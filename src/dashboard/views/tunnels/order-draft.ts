import type { Provider, Transport } from "../../../servers/schema.ts";
import { BACK_MINUTES } from "../../../shared/bounds.ts";
import { carries, standingOf } from "../../../shared/verdict.ts";
import type { MoveWhen } from "../../../tunnel/order.ts";
import type { TunnelRow } from "../../../tunnel/schema.ts";
import { faultText, fromItsField, isTold } from "../../codes.ts";
import type { Fault } from "../../fault.ts";
import { faultFrom, listOf } from "../../format.ts";
import { say } from "../../language.ts";
import { targetsText } from "../../order.ts";
import { viaText } from "../../sentence.ts";

/** A target as someone writes it; `key` stays with it wherever it is moved. */
export interface DraftTarget {
  key: number;
  provider: Provider;
  server: string;
  via: string;
  transport: Transport;
}

/** A tunnel's targets as someone writes them. */
export interface Draft {
  targets: readonly DraftTarget[];
  /** In minutes. */
  back: string;
  whenQuiet: boolean;
  moveWhen: readonly MoveWhen[];
}

/** A form, and the state of it that is told: what is being typed is told once it is whole, not at each key. */
interface Form {
  draft: Draft;
  told: Draft;
}

export function newForm(draft: Draft): Form {
  return { draft, told: draft };
}

export function edited({ draft, told }: Form, some: Partial<Draft>): Form {
  return { draft: { ...draft, ...some }, told };
}

export function settled({ draft }: Form): Form {
  return newForm(draft);
}

/** The targets that a tunnel has, or had last, and room for a second one. */
export function draftOf(row: TunnelRow, current: Provider): Draft {
  const { order, last, wanted, wanted_via, wanted_transport } = row;
  const provider = row.provider ?? current;
  const one = { ...emptyTarget(provider, 0), server: wanted ?? "", via: wanted_via ?? "" };
  const targets = (order ?? last)?.targets.map((each, at) => ({
    ...{ key: at, provider: each.provider, server: each.server },
    ...{ via: each.via ?? "", transport: each.transport ?? ("auto" as const) },
  })) ?? [{ ...one, transport: wanted_transport ?? "auto" }];
  const { back_when_quiet, move_when } = order ?? last ?? {};
  const back =
    order === undefined ? (last?.back_after_minutes ?? BACK_MINUTES) : (order.back_after_minutes ?? 0);
  return {
    targets: targets.length === 1 ? lengthened(targets) : targets,
    ...{ back: String(back), whenQuiet: back_when_quiet === true, moveWhen: move_when ?? [] },
  };
}

/** With room for another target, of the same provider as the last. */
export function lengthened(targets: readonly DraftTarget[]): readonly DraftTarget[] {
  const key = Math.max(...targets.map((each) => each.key)) + 1;
  return [...targets, emptyTarget(targets.at(-1)?.provider ?? "managed", key)];
}

function emptyTarget(provider: Provider, key: number): DraftTarget {
  return { key, provider, server: "", via: "", transport: "auto" };
}

/** What the interface takes. */
export function bodyOf({ targets, back, whenQuiet, moveWhen }: Draft) {
  return {
    targets: targets.map(({ provider, server, via, transport }) => ({
      provider,
      server: server.trim(),
      ...(via.trim() !== "" && { via: via.trim() }),
      ...(transport !== "auto" && { transport }),
    })),
    back_after_minutes: Number(back),
    back_when_quiet: whenQuiet,
    move_when: moveWhen,
  };
}

/** What people call a target; its place in the order until it has a name. */
export function nameOf({ server, via }: DraftTarget, at: number): string {
  return server.trim() === ""
    ? say("target {number}", { number: at + 1 })
    : viaText(server.trim(), via.trim() || undefined);
}

/** What errors call the fields of a target. */
type TargetField = "provider" | "server" | "via" | "transport";

/** The name of a target's field, which goes with it wherever it is moved. */
export function fieldOf({ key }: Pick<DraftTarget, "key">, field: TargetField): string {
  return `${field}-${key}`;
}

/** The field that an error names: "targets: 2: via: there is no server …", "targets: 2: box is there twice". */
export function faultIn(error: string, targets: readonly DraftTarget[]): Fault<string> | null {
  const [, place, word, fault = ""] =
    /^targets: (\d+): (?:(provider|server|via|transport): )?(.*)$/is.exec(fromItsField(error)) ?? [];
  const target = targets[Number(place) - 1];
  if (target === undefined) return null;
  const field = (word?.toLowerCase() ?? "server") as TargetField;
  return {
    field: fieldOf(target, field),
    text: faultText(word === undefined ? fault : faultFrom(fault), isTold(error)),
  };
}

/** Everything that becomes of a tunnel which is given this order, as sentences. */
export function whatChanges(row: TunnelRow, { targets }: Draft): string[] {
  const { order, wanted, wanted_via } = row;
  return [
    say(
      "The first of these that works is used: {targets}. Each one that does not work takes 10 to 30 seconds.",
      {
        targets: listOf(targets.map(nameOf)),
      },
    ),
    ...(order === undefined
      ? wanted === null
        ? []
        : [say("They replace its present target: {target}.", { target: viaText(wanted, wanted_via) })]
      : [say("They replace its present targets: {targets}.", { targets: targetsText(order) })]),
    carries(standingOf(row))
      ? say(
          "Its devices stay connected meanwhile, and if none of the targets works, the tunnel keeps its server. At another server, open connections end.",
        )
      : say("Its devices have internet once one of the targets answers."),
  ];
}
