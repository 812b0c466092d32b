/** A value that JSON can hold. Arguments, results and metadata have this type once they were checked. */
export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;
export interface JsonObject {
  [key: string]: JsonValue;
}
