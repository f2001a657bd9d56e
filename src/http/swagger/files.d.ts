// An import with `type: "file"` gives the path of the file; in the compiled binary the file is embedded.
declare module "./swagger/*" {
  const path: string;
  export default path;
}
declare module "swagger-ui-dist/*" {
  const path: string;
  export default path;
}
