import { createLab, type Lab } from "../tools/lab.ts";
import { Portcullis } from "./portcullis.ts";
import { traceOf, tracerTo } from "./trace.ts";
import { WgQuick } from "./wgquick.ts";

export interface ContestOptions {
  /** What to start as the gateway; the default is this repository's main file. */
  program?: readonly string[];
  /** Whether each program that runs is noted: slower, so nothing else is measured then. */
  traced?: boolean;
}

/** The two sides, each in a home of its own that is built alike. */
export class Contest {
  private constructor(
    readonly portcullis: Portcullis,
    readonly wgQuick: WgQuick,
  ) {}

  static async open({ program, traced = false }: ContestOptions = {}): Promise<Contest> {
    const labs: Lab[] = [];
    try {
      for (let number = 0; number < 2; number += 1) labs.push(await createLab({ cards: 2 }));
      const [ours, theirs] = labs as [Lab, Lab];
      for (const lab of labs) await answerEveryRefusal(lab);
      const tracer = (lab: Lab) => (traced ? tracerTo(traceOf(lab)) : []);
      const how = { starter: tracer(ours), ...(program && { program }) };
      return new Contest(await Portcullis.start(ours, how), await WgQuick.start(theirs, tracer(theirs)));
    } catch (error) {
      for (const lab of labs) await lab.close();
      throw error;
    }
  }

  async delay(ms: number): Promise<void> {
    await this.portcullis.lab.delay(ms);
    await this.wgQuick.lab.delay(ms);
  }

  async close(): Promise<void> {
    for (const { computer, lab } of [this.portcullis, this.wgQuick]) {
      computer.stop();
      await lab.close();
    }
  }
}

/** The kernel refuses silently after six ICMP messages in a row; a measurement needs each. */
async function answerEveryRefusal(lab: Lab): Promise<void> {
  await lab.exec(lab.namespaces.gateway, ["sysctl", "-qw", "net.ipv4.icmp_ratelimit=0"]);
}
