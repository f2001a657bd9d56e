// What is imported with `type: "file"` is the path of a file, in the compiled binary of an embedded one.
declare module "./swagger/*" {
  const path: string;
  export default path;
}
declare module "swagger-ui-dist/*" {
  const path: string;
  export default path;
}
