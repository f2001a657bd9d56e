/** The address of the gateway unless --url or PORTCULLIS_URL names another one. */
export const DEFAULT_URL = "http://127.0.0.1:5000";

/** Stands for a file name: a line of standard input or, at a terminal, an answer that is not echoed. */
export const STANDARD_INPUT = "-";
