// `bunfig.toml` has it loaded before each test.
import fc from "fast-check";

/**
 * What all that tests draw by chance begins with. `scripts/test` chooses one for all of them, so that a test which fails
 * beside others draws the same when it is repeated by itself: only then has a busy machine been at fault. A run by hand
 * draws something else each time; PORTCULLIS_TEST_SEED=… repeats one, as far as timing allows.
 */
export const SEED = Number(process.env.PORTCULLIS_TEST_SEED ?? Date.now() % 1_000_000_000);

fc.configureGlobal({ seed: SEED });
