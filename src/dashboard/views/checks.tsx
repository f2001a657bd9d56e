import { useEffect } from "preact/hooks";
import type { Check, Checks as CheckList } from "../../checks/schema.ts";
import type { Tone } from "../../shared/verdict-texts.ts";
import { useAnswer } from "../answers.ts";
import { read } from "../api.ts";
import { adviceText, checkTitle, foundText } from "../codes.ts";
import { timeOf } from "../format.ts";
import { loadFindings, say } from "../language.ts";
import { Button } from "../parts/button.tsx";
import { Icon, type IconName } from "../parts/icon.tsx";
import { Ready } from "../parts/list.tsx";
import { Told } from "../parts/told.tsx";
import { answerOf } from "../store.ts";
import { ThisDevice } from "./checks/this-device.tsx";

/** What the gateway finds when it looks at itself, the worst first, and what becomes of the device with this page. */
export function Checks() {
  const checks = useAnswer("checks");
  useEffect(() => void loadFindings(), []);
  return (
    <div class="checks">
      <h1>{say("Checks")}</h1>
      <Ready of={checks}>{(value) => <Summary of={value} />}</Ready>
      <ThisDevice />
      {checks.state === "ready" && <Results checks={checks.value.checks} />}
    </div>
  );
}

type Result = Check["result"];

const RESULTS: readonly (readonly [result: Result, title: string])[] = [
  ["fault", say("Faults")],
  ["warning", say("Warnings")],
  ["ok", say("Good")],
];

const LOOKS: Readonly<Record<Result, { icon: IconName; tone: Tone; word: string }>> = {
  fault: { icon: "bad", tone: "exposed", word: say("Fault") },
  warning: { icon: "warning", tone: "partly", word: say("Warning") },
  ok: { icon: "good", tone: "protected", word: say("Good") },
};

function Summary({ of: { checks, checked_at } }: { of: CheckList }) {
  const worst = RESULTS.map(([result]) => result).find((result) =>
    checks.some((each) => each.result === result),
  );
  const { icon, tone } = LOOKS[worst ?? "ok"];
  const count = (result: Result) =>
    checks.filter((each) => each.result === result && each.because_of === undefined).length;
  return (
    <section class={`card check-summary tone-${tone}`}>
      <p role="status">
        <Icon name={icon} /> <strong>{summaryOf(count("fault"), count("warning"), checks.length)}</strong>
      </p>
      <p class="quiet small">
        {say("Checked at {time}. The gateway keeps results for five seconds.", { time: timeOf(checked_at) })}
      </p>
      <Button
        doing={say("Checking…")}
        work={async () => {
          answerOf("checks").value = { state: "ready", value: await read("checks") };
        }}
      >
        {say("Check again")}
      </Button>
    </section>
  );
}

function summaryOf(faults: number, warnings: number, all: number): string {
  if (faults === 0 && warnings === 0)
    return say("{all, plural, one {All # checks are good.} other {All # checks are good.}}", { all });
  if (warnings === 0) return say("{faults, plural, one {# fault.} other {# faults.}}", { faults });
  if (faults === 0) return say("{warnings, plural, one {# warning.} other {# warnings.}}", { warnings });
  return say(
    "{faults, plural, one {# fault} other {# faults}} and {warnings, plural, one {# warning} other {# warnings}}.",
    { faults, warnings },
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
  const { result } = check;
  const advice = adviceText(check);
  const { icon, tone, word } = LOOKS[result];
  return (
    <li class={`row tone-${tone}`}>
      <Icon name={icon} />
      <div>
        <p>
          <span class="hidden">{word}: </span>
          <strong>{checkTitle(check)}</strong>
        </p>
        <p>
          <Told text={foundText(check)} />
        </p>
        {advice !== null && (
          <p class="advice">
            <span class="quiet">{say("What to do:")}</span> <Told text={advice} />
          </p>
        )}
        {effects.length > 0 && (
          <details>
            <summary>
              {say("{count, plural, one {# fault follows} other {# faults follow}} from this", {
                count: effects.length,
              })}
            </summary>
            <ul>
              {effects.map((each) => (
                <li key={each.id}>
                  {checkTitle(each)}: <Told text={foundText(each)} />
                </li>
              ))}
            </ul>
          </details>
        )}
      </div>
    </li>
  );
}
