import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { pathTo } from "../../hash.ts";
import { say } from "../../language.ts";
import { ViewLink } from "../../parts/link.tsx";
import { SearchField } from "../../parts/search-field.tsx";
import { useDetail } from "../../route.ts";

const TITLES = {
  connection: say("Connection"),
  home: say("Home network"),
  messages: say("Messages"),
  gateway: say("Gateway and page"),
  owner: say("Owner"),
};

/** Settings about one subject. A link to it leads the focus there. */
export function Group({ id, children }: { id: keyof typeof TITLES; children: ComponentChildren }) {
  const isWanted = useDetail() === id;
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (isWanted) title.current?.focus();
  }, [isWanted]);
  return (
    <section class="settings-group" aria-label={TITLES[id]}>
      <h2 ref={title} tabIndex={-1}>
        {TITLES[id]}
      </h2>
      <div class="settings-cards">{children}</div>
    </section>
  );
}

/** Links to the groups, and a text that leaves those settings that have it. */
export function SettingsSearch({ text, onText }: { text: string; onText: (text: string) => void }) {
  return (
    <div class="search">
      <SearchField
        label={say("Search the settings")}
        placeholder={say("Search the settings")}
        text={text}
        onText={onText}
      />
      <p class="choices">
        {Object.entries(TITLES)
          .filter(isServed)
          .map(([group, title]) => (
            <ViewLink key={group} to={pathTo("settings", group)} class="button plain">
              {title}
            </ViewLink>
          ))}
      </p>
    </div>
  );
}

/** Owners are over HTTPS only. */
function isServed([group]: [string, string]): boolean {
  return group !== "owner" || location.protocol === "https:";
}

/** Hides the cards without this text, whatever their parts; says whether any is left. */
export function useFound(text: string): [RefObject<HTMLDivElement | null>, boolean] {
  const view = useRef<HTMLDivElement>(null);
  const [isFound, setFound] = useState(true);
  // After each drawing: cards come once their answers are there.
  useEffect(() => {
    const wanted = text.trim().toLowerCase();
    const cards = [...(view.current?.querySelectorAll<HTMLElement>(".card") ?? [])];
    for (const card of cards) card.hidden = wanted !== "" && !card.textContent.toLowerCase().includes(wanted);
    setFound(cards.length === 0 || cards.some(({ hidden }) => !hidden));
  });
  return [view, isFound];
}
