/** One of several values of a choice. */
export interface Option<Value extends string = string> {
  value: Value;
  text: string;
}
