import { acrossPlan } from "./across.ts";
import { downPlan } from "./down.ts";
import type { HomeNow } from "./home-now.ts";
import { modelOf } from "./model.ts";
import type { Plan, Scale } from "./plan.ts";

export interface Look {
  width: number;
  /** The page's letters by 16 pixels. */
  em: number;
  /** The group that is unfolded. */
  open: string | null;
}

const ACROSS_FROM = 960;
const NARROW_FROM = 640;
/** Below it there is a list and no picture. */
const DOWN_FROM = 240;
/** Below it lines are thin, and rates only in sentences. */
const TIGHT_BELOW = 300;

/** The same facts and the same width give the same picture. Null where there is no room for one. */
export function planOf(home: HomeNow, { width, em, open }: Look): Plan | null {
  const u: Scale = (pixels) => Math.round(pixels * em);
  if (width < u(DOWN_FROM)) return null;
  if (width >= u(NARROW_FROM))
    return acrossPlan(modelOf(home, open, u(84)), { width, u, isNarrow: width < u(ACROSS_FROM) });
  const isTight = width < u(TIGHT_BELOW);
  return downPlan(modelOf(home, open, u(isTight ? 22 : 36)), { width, u, isTight });
}
