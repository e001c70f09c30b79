// capture/engine/imported_function.h: which function a loaded library calls where it calls one of another
// library.
#ifndef STATOR_CAPTURE_ENGINE_IMPORTED_FUNCTION_H
#define STATOR_CAPTURE_ENGINE_IMPORTED_FUNCTION_H

namespace stator {

// From now on the library whose file name begins so calls `instead` where it calls the function of this name.
// False where it is not loaded or does not call that function.
bool replace_imported_function(const char* library, const char* name, void* instead);

}  // namespace stator

#endif
