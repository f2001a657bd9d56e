import { knownOf, useAnswer } from "../answers.ts";
import { Icon } from "../parts/icon.tsx";
import { TONE_ICONS } from "../parts/tone.ts";
import { sentenceOf } from "../sentence.ts";
import { useStore } from "../store.ts";

/** Whether the home is protected. */
export function Home() {
  const connection = useStore((state) => state.connection);
  const known = {
    connection,
    status: knownOf(useAnswer("status")),
    tunnels: knownOf(useAnswer("tunnels"))?.tunnels ?? null,
    devices: knownOf(useAnswer("devices")),
    checks: knownOf(useAnswer("checks")),
  };
  const { tone, word, text, why } = sentenceOf(known);
  return (
    <section class={`state tone-${tone}`}>
      <h1>
        <Icon name={TONE_ICONS[tone]} /> {word}
      </h1>
      <p class="sentence">{text}</p>
      {why !== null && <p class="why">{why}</p>}
    </section>
  );
}
