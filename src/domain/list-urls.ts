/** Returns the URLs of a setting that names several servers, separated by commas. */
export const listUrls = (text: string): string[] => text.split(/\s*,\s*(?=[a-z]+:\/\/)/);
