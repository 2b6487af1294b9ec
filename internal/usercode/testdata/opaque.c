// A structure that only this unit defines.
struct hidden { const char *text; };
struct opaque { int number; struct hidden inner; };

struct opaque the_opaque = {55, {"of another unit"}};
