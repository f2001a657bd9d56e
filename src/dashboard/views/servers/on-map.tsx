import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { TunnelRow } from "../../../tunnel/schema.ts";
import { knownOf, useAnswer } from "../../answers.ts";

/** A map of the tunnels' places, once its script is there; without it the page says the same in words. */
export function OnMap() {
  const tunnels = knownOf(useAnswer("tunnels"))?.tunnels ?? [];
  const [drawn, setDrawn] = useState<{ Map: ComponentType<{ tunnels: readonly TunnelRow[] }> } | null>(null);
  const isKnown = tunnels.some(({ location }) => location !== "");
  useEffect(() => {
    if (!isKnown) return;
    import("../../map/map.tsx").then(
      ({ PlacesMap }) => setDrawn({ Map: PlacesMap }),
      () => {},
    );
  }, [isKnown]);
  return drawn && <drawn.Map tunnels={tunnels} />;
}
