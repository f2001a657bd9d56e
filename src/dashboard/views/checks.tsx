import type { Check, Checks as CheckList } from "../../checks/schema.ts";
import { useAnswer } from "../answers.ts";
import { read } from "../api.ts";
import { countOf, sentenceFrom, timeOf } from "../format.ts";
import { Button } from "../parts/button.tsx";
import { Icon, type IconName } from "../parts/icon.tsx";
import { Pending } from "../parts/pending.tsx";
import type { Tone } from "../sentence.ts";
import { answerOf } from "../store.ts";
import { ThisDevice } from "./checks/this-device.tsx";

/** What the gateway finds when it looks at itself, the worst first, and what becomes of the device with this page. */
export function Checks() {
  const checks = useAnswer("checks");
  return (
    <div class="checks">
      <h1>Checks</h1>
      {checks.state === "ready" ? <Summary of={checks.value} /> : <Pending of={checks} />}
      <ThisDevice />
      {checks.state === "ready" && <Results checks={checks.value.checks} />}
    </div>
  );
}

type Result = Check["result"];

const RESULTS: readonly (readonly [result: Result, title: string])[] = [
  ["fault", "Faults"],
  ["warning", "Warnings"],
  ["ok", "Good"],
];

const LOOKS: Readonly<Record<Result, { icon: IconName; tone: Tone; word: string }>> = {
  fault: { icon: "bad", tone: "exposed", word: "Fault" },
  warning: { icon: "warning", tone: "partly", word: "Warning" },
  ok: { icon: "good", tone: "protected", word: "Good" },
};

function Summary({ of: { checks, checked_at } }: { of: CheckList }) {
  const worst = RESULTS.map(([result]) => result).find((result) =>
    checks.some((each) => each.result === result),
  );
  const { icon, tone } = LOOKS[worst ?? "ok"];
  const count = (result: Result) =>
    checks.filter((each) => each.result === result && each.because_of === undefined).length;
  const parts = [
    ...(count("fault") > 0 ? [countOf(count("fault"), "fault")] : []),
    ...(count("warning") > 0 ? [countOf(count("warning"), "warning")] : []),
  ];
  const text = parts.length === 0 ? `All ${checks.length} checks are good.` : `${parts.join(" and ")}.`;
  return (
    <section class={`card check-summary tone-${tone}`}>
      <p role="status">
        <Icon name={icon} /> <strong>{text}</strong>
      </p>
      <p class="quiet small">Checked at {timeOf(checked_at)}. The gateway keeps results for five seconds.</p>
      <Button
        doing="Checking…"
        work={async () => {
          answerOf("checks").value = { state: "ready", value: await read("checks") };
        }}
      >
        Check again
      </Button>
    </section>
  );
}

function Results({ checks }: { checks: readonly Check[] }) {
  return (
    <>
      {RESULTS.map(([result, title]) => {
        const found = checks.filter((each) => each.result === result && each.because_of === undefined);
        return found.length === 0 ? null : (
          <section key={result} class="card">
            <h2>
              {title} <span class="quiet">{found.length}</span>
            </h2>
            <ul class={`rows check-rows ${result}`}>
              {found.map((check) => (
                <Row key={check.id} check={check} effects={effectsOf(check, checks)} />
              ))}
            </ul>
          </section>
        );
      })}
    </>
  );
}

/** What follows from a fault, and what follows from that. */
function effectsOf({ id }: Check, checks: readonly Check[]): Check[] {
  return checks
    .filter(({ because_of }) => because_of === id)
    .flatMap((each) => [each, ...effectsOf(each, checks)]);
}

function Row(props: { check: Check; effects: readonly Check[] }) {
  const { check, effects } = props;
  const { title, result, found, advice } = check;
  const { icon, tone, word } = LOOKS[result];
  return (
    <li class={`row tone-${tone}`}>
      <Icon name={icon} />
      <div>
        <p>
          <span class="hidden">{word}: </span>
          <strong>{title}</strong>
        </p>
        <p>{sentenceFrom(found)}</p>
        {advice !== null && (
          <p class="advice">
            <span class="quiet">What to do:</span> {advice}
          </p>
        )}
        {effects.length > 0 && (
          <details>
            <summary>{countOf(effects.length, "fault follows", "faults follow")} from this</summary>
            <ul>
              {effects.map((each) => (
                <li key={each.id}>
                  {each.title}: {sentenceFrom(each.found)}
                </li>
              ))}
            </ul>
          </details>
        )}
      </div>
    </li>
  );
}
