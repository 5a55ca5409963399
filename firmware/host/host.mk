# The core for this machine: a shared library that tests load, and its unit tests.  (-Wno-address: an arm may have no gravity.)

HOST_LIBRARY := $(OUT)/host/libpicker_core.so
HOST_TESTS := $(OUT)/host/test_core
HOST_FLAGS := -std=c++11 -O2 -g -fPIC -Wall -Wextra -Wconversion -Wshadow -Werror -Wno-address $(INCLUDES) -I$(HERE)/host

host: $(HOST_LIBRARY) $(HOST_TESTS)

$(HOST_LIBRARY): $(CORE) $(HERE)/host/picker_core.cpp $(HERE)/host/picker_core.h $(HEADERS)
	@mkdir -p $(@D)
	@$(CXX) $(HOST_FLAGS) -shared -fvisibility=hidden -o $@ $(CORE) $(HERE)/host/picker_core.cpp

$(HOST_TESTS): $(CORE) $(HERE)/host/test_core.cpp $(HEADERS)
	@mkdir -p $(@D)
	@$(CXX) $(HOST_FLAGS) -fsanitize=undefined -fno-sanitize-recover -o $@ $(CORE) $(HERE)/host/test_core.cpp
