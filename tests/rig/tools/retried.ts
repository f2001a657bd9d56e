/** HTTP status. */
const TOO_MANY = 429;
const SECOND_MS = 1_000;

/** Asks again as long as there were too many requests, each time after the seconds that the answer names. */
export async function patiently<Answer extends { status: number; headers: Headers }>(
  ask: () => Promise<Answer>,
): Promise<Answer> {
  for (;;) {
    const answer = await ask();
    const seconds = answer.headers.get("Retry-After");
    if (answer.status !== TOO_MANY || seconds === null) return answer;
    await Bun.sleep(Number(seconds) * SECOND_MS);
  }
}
