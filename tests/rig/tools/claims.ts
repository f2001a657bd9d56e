import { test } from "bun:test";

type Claim = (claim: string, work: () => Promise<void>) => void;

/**
 * One test of claims of which each begins where the one before has ended. The first that does not hold ends it, so that
 * one failure stays one, and is named by its error. Each may take `timeoutMs`.
 */
export function story(title: string, timeoutMs: number, tell: (claim: Claim) => void): void {
  const claims: Parameters<Claim>[] = [];
  tell((claim, work) => void claims.push([claim, work]));
  const play = async () => {
    for (const [claim, work] of claims)
      await work().catch((cause) => {
        throw new Error(`it does not hold that ${claim}`, { cause });
      });
  };
  test(title, play, timeoutMs * claims.length);
}
