import type { ComponentChild, RefObject } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Drawing } from "./drawing.tsx";
import type { HomeNow } from "./home-now.ts";
import { Labels } from "./labels.tsx";
import type { Plan } from "./plan.ts";
import { planOf } from "./plan-of.ts";
import { exitSentence, rowSentence } from "./sentences.ts";

/** Who leaves through which exit, as a picture; something else where there is no room for one. */
export function Picture(props: {
  home: HomeNow;
  instead: ComponentChild;
  /** Somebody wants to know more of a device, or to do something with it. */
  onDevice: (id: string) => void;
}) {
  const { home, instead, onDevice } = props;
  const card = useRef<HTMLDivElement>(null);
  const { width, em } = useSize(card);
  const [open, setOpen] = useState<string | null>(null);
  const [chosen, setChosen] = useState<string | null>(null);
  const plan = useMemo(
    () => (width === 0 ? null : planOf(home, { width, em, open })),
    [home, width, em, open],
  );
  return (
    <div ref={card} class="picture-card">
      {plan === null ? (
        width > 0 && instead
      ) : (
        <>
          <div class={`picture ${plan.shape}`} style={{ height: `${plan.height}px` }}>
            <Drawing
              plan={plan}
              u={(n) => Math.round(n * em)}
              isGated={home.gate !== "gone"}
              chosen={chosen}
            />
            <Labels
              home={home}
              plan={plan}
              chosen={chosen}
              onChosen={setChosen}
              onOpen={(group) => setOpen(group === open ? null : group)}
              onDevice={onDevice}
            />
          </div>
          <p class="picture-said quiet" aria-hidden="true">
            {chosen === null ? "" : sentenceOf(plan, home, chosen)}
          </p>
        </>
      )}
    </div>
  );
}

function sentenceOf(plan: Plan, home: HomeNow, chosen: string): string {
  const row = plan.rows.find(({ id }) => id === chosen);
  if (row !== undefined) {
    const said = rowSentence(row, new Map(home.exits.map((each) => [each.id, each])));
    return said === "" ? row.title : `${row.title}: ${said}`;
  }
  const lane = plan.lanes.find(({ id }) => id === chosen);
  return lane === undefined ? "" : exitSentence(lane);
}

const STANDARD_LETTERS_PX = 16;

/** The room that the element has, and the size of its letters by the standard one. */
function useSize(element: RefObject<HTMLElement | null>): { width: number; em: number } {
  const [size, setSize] = useState({ width: 0, em: 1 });
  useLayoutEffect(() => {
    const { current } = element;
    if (current === null) return undefined;
    const measure = () => {
      const width = Math.floor(current.clientWidth);
      const em = Number.parseFloat(getComputedStyle(current).fontSize) / STANDARD_LETTERS_PX;
      setSize((before) => (before.width === width && before.em === em ? before : { width, em }));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(current);
    return () => observer.disconnect();
  }, [element]);
  return size;
}
