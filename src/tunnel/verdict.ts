import { type Static, Type } from "typebox";
import { enumOf } from "../base/enum.ts";
import { objectOf } from "../base/object.ts";
import { allSaid, said, type Voice } from "../shared/saying.ts";
import type { Verdict as Judged, TunnelFacts } from "../shared/verdict.ts";
import { type Around, textsOf } from "../shared/verdict-texts.ts";

/** The verdict on the home, as every surface shows it. */
export const Verdict = objectOf({
  name: enumOf(
    ["protected", "unused", "moving", "partly", "stalled", "blocked", "weakened", "exposed", "unknown"],
    { description: "`partly` if some devices have no internet, `stalled` if no tunnel carries anything" },
  ),
  title: Type.String({ examples: ["37 devices have no internet"] }),
  text: Type.String({ description: "one or two sentences" }),
  why: Type.Union([Type.String(), Type.Null()], { description: "the reason; null if nothing is wrong" }),
  through: Type.Optional(
    Type.Integer({ minimum: 0, description: "how many devices go through a tunnel that carries traffic" }),
  ),
  without: Type.Optional(
    Type.Integer({
      minimum: 0,
      description:
        "how many have no internet although nobody has chosen that: their tunnel carries nothing, their quota is used up, or none of their tunnels is up; both are missing while the kill switch is not fully in place, or if they are not known",
    }),
  ),
});
export type Verdict = Static<typeof Verdict>;

export function shownVerdict(verdict: Judged<TunnelFacts>, around: Around, voice: Voice): Verdict {
  const { title, text, why } = textsOf(verdict, around);
  return {
    name: verdict.name,
    title: said(title, voice),
    text: allSaid(text, voice),
    why: allSaid(why, voice) || null,
    ...("through" in verdict && { through: verdict.through, without: verdict.without }),
  };
}
