/** A value that is there, or will be. */
export type Soon<Value> = Value | Promise<Value>;

/** What follows from a value: in this turn if the value is there, because each `await` takes as long as a small answer. */
export function soon<Value, Next>(value: Soon<Value>, next: (value: Value) => Soon<Next>): Soon<Next> {
  return value instanceof Promise ? value.then(next) : next(value);
}

/** The work's value, or what `instead` makes of the error that it throws, now or later. */
export function caught<Value>(work: () => Soon<Value>, instead: (error: unknown) => Value): Soon<Value> {
  try {
    const value = work();
    return value instanceof Promise ? value.catch(instead) : value;
  } catch (error) {
    return instead(error);
  }
}
