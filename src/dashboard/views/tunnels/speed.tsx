import { SPEED_BOUNDS } from "../../../shared/bounds.ts";
import { SPEED_FILES } from "../../../shared/services.ts";
import type { SpeedResult, SpeedTestList } from "../../../speed/schema.ts";
import { knownOf, useAnswer } from "../../answers.ts";
import { change } from "../../api.ts";
import { bitRateOf, bytesOf, timeOf } from "../../format.ts";
import { say } from "../../language.ts";
import { Form } from "../../parts/form.tsx";
import { OnDemand } from "../../parts/on-demand.tsx";

/** What an address looks like, in every language. */
const EXAMPLE = "https://speed.example.com/100MB.bin";
const BITS_PER_MEGABIT = 1_000_000;

/** Measures a tunnel by a download that a person asks for. */
export function Speed({ tunnels }: { tunnels: readonly string[] }) {
  const tests = knownOf(useAnswer("speed-tests"));
  return (
    <section class="card words">
      <h2>{say("Speed test")}</h2>
      <p>
        {say(
          "A file is downloaded through the tunnel, for at most {seconds} seconds and {megabytes} MB. Its server sees a visitor who comes from the tunnel.",
          { seconds: SPEED_BOUNDS.seconds.usual, megabytes: SPEED_BOUNDS.megabytes.usual },
        )}
      </p>
      <OnDemand text={say("Measure a tunnel…")}>
        <Form
          of="speedTest"
          rows={{
            url: {
              label: say("Address of a large file"),
              hint: say("Such as {address}, or one that is suggested. Nothing is downloaded until you ask.", {
                address: EXAMPLE,
              }),
              suggestions: SPEED_FILES.map(({ url, where }) => ({ value: url, text: where })),
              pattern: "https://.+",
              title: say("An https address"),
            },
            tunnel: { label: say("Tunnel"), options: tunnels.map((value) => ({ value, text: value })) },
          }}
          work={async (given) => {
            const { mbit_per_second } = await change<SpeedResult>("POST", "speed-tests", given);
            return say("{tunnel}: {rate}", { tunnel: given.tunnel ?? "", rate: megabitsOf(mbit_per_second) });
          }}
          submit={say("Measure")}
          doing={say("Measuring…")}
        />
      </OnDemand>
      {tests !== null && <Tests of={tests} />}
    </section>
  );
}

function Tests({ of: { running, results } }: { of: SpeedTestList }) {
  return (
    <>
      {running !== null && (
        <p role="status">
          {say("{tunnel} is measured: {bytes} until now.", {
            tunnel: running.tunnel,
            bytes: bytesOf(running.bytes),
          })}
        </p>
      )}
      {results.length > 0 && (
        <ul class="items">
          {results.map((result) => (
            <li key={result.at}>
              {say("{time}: {rate} by {tunnel}, {server}", {
                time: timeOf(result.at),
                rate: megabitsOf(result.mbit_per_second),
                tunnel: result.tunnel,
                server: result.server,
              })}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function megabitsOf(megabits: number): string {
  return bitRateOf(BITS_PER_MEGABIT * megabits);
}
