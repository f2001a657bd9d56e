import type { JournalEntry } from "../../../journal/schema.ts";
import { knownOf, useAnswer } from "../../answers.ts";
import { say } from "../../language.ts";

/** What is shown: everything, alerts, all tunnels' states, or those of one tunnel, `tunnel:<name>`. */
export type Topic = "all" | "alerts" | "tunnels" | `tunnel:${string}`;

const KNOWN: ReadonlySet<string> = new Set<JournalEntry["type"]>(["security_alert", "tunnel_state"]);

export function isShown(entry: JournalEntry, topic: Topic): boolean {
  // A newer gateway may tell more than this page knows.
  if (!KNOWN.has(entry.type)) return false;
  if (topic === "all") return true;
  if (topic === "alerts") return entry.type === "security_alert";
  return entry.type === "tunnel_state" && (topic === "tunnels" || topic === `tunnel:${entry.tunnel}`);
}

interface FilterProps {
  events: readonly JournalEntry[];
  topic: Topic;
  onTopic: (topic: Topic) => void;
}

/** Tunnels that were removed have left their events. */
export function Filter({ events, topic, onTopic }: FilterProps) {
  const rows = knownOf(useAnswer("tunnels"))?.tunnels ?? [];
  const past = events.flatMap((entry) => (entry.type === "tunnel_state" ? [entry.tunnel] : []));
  const names = [...new Set([...rows.map(({ name }) => name), ...past.toSorted()])];
  const topics: [topic: Topic, text: string][] = [
    ["all", say("Everything")],
    ["alerts", say("Alerts")],
    ["tunnels", say("Tunnels")],
    ...(names.length > 1 ? names : []).map((name): [Topic, string] => [
      `tunnel:${name}`,
      say("{tunnel, select, main {Main tunnel} other {Tunnel {tunnel}}}", { tunnel: name }),
    ]),
  ];
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset cannot be laid out in a line
    <div role="group" aria-label={say("What is shown")} class="choices">
      {topics.map(([each, text]) => (
        <button
          key={each}
          type="button"
          class="chip"
          aria-pressed={each === topic}
          onClick={() => onTopic(each)}
        >
          {text}
        </button>
      ))}
    </div>
  );
}
